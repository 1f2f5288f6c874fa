//! Replicas over clusters, by weight.

/// `replicas` divided by weight: whole shares, and what is left goes to the largest remainders; of equal ones the first
/// is served first. Nothing is divided where nothing weighs anything.
pub fn divide(replicas: u32, weights: &[u32]) -> Vec<u32> {
    let sum: u64 = weights.iter().copied().map(u64::from).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let products: Vec<u64> = weights.iter().map(|weight| u64::from(*weight) * u64::from(replicas)).collect();
    let mut shares: Vec<u64> = products.iter().map(|product| product / sum).collect();
    let left = u64::from(replicas) - shares.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(products[*i] % sum));
    for i in order.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
        shares[i] += 1;
    }
    shares.into_iter().map(|share| u32::try_from(share).unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::divide;

    #[test]
    fn shares_add_up_and_the_largest_remainder_gets_what_is_left() {
        for (replicas, weights, shares) in [
            (10, &[4, 6][..], &[4, 6][..]),
            (12, &[1, 1, 1], &[4, 4, 4]),
            (10, &[1, 1, 1], &[4, 3, 3]),
            (7, &[3, 3, 1], &[3, 3, 1]),
            (5, &[3, 3, 1], &[2, 2, 1]),
            (0, &[3, 1], &[0, 0]),
            (3, &[0, 2], &[0, 3]),
            (3, &[0, 0], &[0, 0]),
            (3, &[], &[]),
        ] {
            assert_eq!(divide(replicas, weights), shares, "{replicas} by {weights:?}");
        }
    }
}
