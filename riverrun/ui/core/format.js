// Numbers, sizes and times in words. None of them throws: what is missing is shown as '–'.

export const NONE = '–';

/** @param {number | null | undefined} value @returns {value is number} */
export function known(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

/** 1234567 → '1.23 M'. @param {number | null | undefined} value */
export function count(value) {
  if (!known(value)) return NONE;
  return scaled(value, 1000, ['', ' k', ' M', ' G', ' T', ' P']);
}

/** Every digit, grouped: for tables and titles. @param {number | null | undefined} value */
export function exact(value) {
  return known(value) ? value.toLocaleString('en-US', { maximumFractionDigits: 3 }) : NONE;
}

/** 1536 → '1.5 KiB'. @param {number | null | undefined} value */
export function bytes(value) {
  if (!known(value) || value < 0) return NONE;
  return scaled(value, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB', ' PiB']);
}

/** Per second. @param {number | null | undefined} value */
export function rate(value) {
  return known(value) ? `${count(value)}/s` : NONE;
}

/** 0.5 → '50 %'. @param {number | null | undefined} share */
export function percent(share) {
  return known(share) ? `${Math.round(share * 100)} %` : NONE;
}

/** Milliseconds: 950 → '950 ms', 61000 → '1 m 1 s'. @param {number | null | undefined} ms */
export function duration(ms) {
  if (!known(ms) || ms < 0) return NONE;
  if (ms < 999.5) return `${ms < 10 && ms % 1 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const parts = [[86_400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']];
  let left = seconds;
  const words = [];
  for (const [size, unit] of /** @type {[number, string][]} */ (parts)) {
    if (left >= size) words.push(`${Math.floor(left / size)} ${unit}`);
    left %= size;
  }
  return words.slice(0, 2).join(' ');
}

/** @param {number | null | undefined} ms since the epoch */
export function clock(ms) {
  return known(ms) && ms > 0 ? new Date(ms).toLocaleTimeString('en-GB') : NONE;
}

/** @param {number | null | undefined} ms since the epoch */
export function moment(ms) {
  if (!known(ms) || ms <= 0) return NONE;
  const date = new Date(ms);
  const pad = (/** @type {number} */ n) => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${date.toLocaleTimeString('en-GB')}`;
}

/** @param {number | null | undefined} ms since the epoch @param {number} [now] */
export function ago(ms, now = Date.now()) {
  return known(ms) && ms > 0 ? `${duration(Math.max(0, now - ms))} ago` : NONE;
}

/** @param {number} value @param {number} base @param {string[]} units */
function scaled(value, base, units) {
  let size = rounded(Math.abs(value));
  let unit = 0;
  while (size >= base && unit < units.length - 1) {
    unit += 1;
    size = rounded(Math.abs(value) / base ** unit);
  }
  return `${value < 0 ? '-' : ''}${size}${units[unit]}`;
}

/** Three digits, or all of a larger number. @param {number} size */
function rounded(size) {
  return Number(size.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0));
}
