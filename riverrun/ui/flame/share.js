// A part of the samples in per cent: small and nearly whole ones keep a digit.

/** @param {number} value @param {number} whole */
export function share(value, whole) {
  const found = whole > 0 ? (value / whole) * 100 : 0;
  if (found > 99 && found < 100) return `${Math.min(99.9, Number(found.toFixed(1)))} %`;
  return `${found > 0 && found < 10 ? Number(found.toPrecision(2)) : Math.round(found)} %`;
}
