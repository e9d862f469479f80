// Where rows stand when each is as many lines high as its text needs, and which of them are in sight.

/** @typedef {import('./window.js').Row} Row */

export const TAB = 4;

/** @typedef {{tops: Uint32Array, widest: number}} Layout tops: the line where each row begins; one more for the end */

/**
 * @param {Row[]} rows
 * @param {number} columns characters in a line; Infinity: lines are not wrapped
 * @returns {Layout}
 */
export function layOut(rows, columns) {
  const tops = new Uint32Array(rows.length + 1);
  let widest = 0;
  for (const [at, row] of rows.entries()) {
    const width = widthOf(row.text);
    if (width > widest) widest = width;
    tops[at + 1] = tops[at] + Math.max(1, Math.ceil(width / columns));
  }
  return { tops, widest };
}

/** @param {string} text */
function widthOf(text) {
  if (!text.includes('\t')) return text.length;
  let width = 0;
  for (const character of text) width += character === '\t' ? TAB - (width % TAB) : 1;
  return width;
}

/** The row at a line. @param {Uint32Array} tops @param {number} line */
export function rowAt(tops, line) {
  let low = 0;
  let high = Math.max(0, tops.length - 2);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle] <= line) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * The rows to draw, from the first up to and without the last.
 * @param {Uint32Array} tops
 * @param {number} line the first in sight
 * @param {number} lines how many are
 * @param {number} spare how many more are drawn on either side
 */
export function inSight(tops, line, lines, spare) {
  if (tops.length <= 1) return { first: 0, last: 0 };
  return { first: rowAt(tops, Math.max(0, line - spare)), last: rowAt(tops, line + lines + spare) + 1 };
}

/** The index of the row that holds a byte of the file. @param {Row[]} rows @param {number} at */
export function rowOfByte(rows, at) {
  let low = 0;
  let high = Math.max(0, rows.length - 1);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rows[middle].at <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}
