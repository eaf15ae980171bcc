"""SaGe: Algorithm 3, the ablation losses and their compiled sums."""
