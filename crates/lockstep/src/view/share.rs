//! Sharing the rows of the screen between sections.

/// More rows for a section.
#[derive(Debug, Clone, Copy)]
pub struct More {
    /// Which section.
    pub of: usize,
    /// With so many it says more than with fewer.
    pub from: usize,
    /// With more than these it would be empty below.
    pub to: usize,
}

impl More {
    /// All of these rows, or none of them.
    pub fn whole(of: usize, rows: usize) -> Self {
        Self { of, from: rows, to: rows }
    }
}

/// Shares rows: first every section gets the least it needs, in their order; then more of them get more, in the order of
/// their wishes.
pub fn share<const N: usize>(rows: usize, least: [usize; N], wishes: &[More]) -> [usize; N] {
    let mut left = rows;
    let mut given = least.map(|least| {
        let takes = least.min(left);
        left -= takes;
        takes
    });
    for more in wishes {
        let has = given[more.of];
        let most = more.to.min(has + left);
        if most >= more.from.max(has) {
            left -= most - has;
            given[more.of] = most;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_the_least_then_more_in_the_order_of_the_wishes() {
        let wishes = [More::whole(1, 4), More { of: 0, from: 3, to: 9 }, More { of: 1, from: 4, to: 6 }];
        for (rows, given) in [
            (0, [0, 0]),
            (1, [1, 0]),
            (3, [2, 1]),
            (5, [4, 1]),
            (6, [2, 4]),
            (8, [4, 4]),
            (13, [9, 4]),
            (14, [9, 5]),
            (99, [9, 6]),
        ] {
            assert_eq!(share(rows, [2, 1], &wishes), given, "{rows} rows");
        }
        assert_eq!(share(9, [3], &[More::whole(0, 2)]), [3], "nobody gets less than before");
    }
}
