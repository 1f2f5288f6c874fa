//! Sharing the rows of the screen between sections.

/// How many rows a section needs to be of use, and how many it can fill.
#[derive(Debug, Clone, Copy)]
pub struct Want {
    /// With fewer it says nothing.
    pub least: usize,
    /// With more it would be empty below.
    pub most: usize,
}

/// Shares rows: first everyone gets the least they need, in their order; then, in the same order, as much as
/// they can fill.
pub fn share(rows: usize, wants: &[Want]) -> Vec<usize> {
    let mut left = rows;
    let mut given: Vec<usize> = wants
        .iter()
        .map(|want| {
            let least = want.least.min(want.most);
            let takes = if least <= left { least } else { 0 };
            left -= takes;
            takes
        })
        .collect();
    for (has, want) in given.iter_mut().zip(wants) {
        // Who got nothing would have got too little.
        if *has > 0 || want.least <= left {
            let more = want.most.saturating_sub(*has).min(left);
            *has += more;
            left -= more;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_first_gets_the_least_then_the_first_the_most() {
        let wants = [Want { least: 2, most: 5 }, Want { least: 2, most: 3 }, Want { least: 2, most: 9 }];
        for (rows, given) in [
            (0, [0, 0, 0]),
            (3, [3, 0, 0]),
            (4, [2, 2, 0]),
            (6, [2, 2, 2]),
            (8, [4, 2, 2]),
            (10, [5, 3, 2]),
            (12, [5, 3, 4]),
            (99, [5, 3, 9]),
        ] {
            assert_eq!(share(rows, &wants), given, "{rows} rows");
        }
        assert_eq!(share(9, &[Want { least: 3, most: 1 }]), [1], "nobody gets more than they can fill");
    }
}
