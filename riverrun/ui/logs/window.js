// The part of a log file that is kept in the page: rows of text, cut from pieces of bytes.

/**
 * A line of the file, or a part of a very long one.
 * @typedef {object} Row
 * @property {number} at where it begins in the file, in bytes
 * @property {number} size its bytes, with the line end
 * @property {string} text
 *
 * A piece as it was read: the bytes from `start` on, out of a file of `size` bytes.
 * @typedef {{bytes: Uint8Array, start: number, size: number}} Piece
 *
 * What to read.
 * @typedef {{offset: number, limit: number}} Wish
 *
 * added: there are more rows; same: there was nothing new; anew: this is another file than before, which was
 * cut off or replaced, and has to be opened again.
 * @typedef {'added' | 'same' | 'anew'} Outcome
 */

const LINE_END = 10;
/** How many of the last bytes are read again each time: if they differ, the file was replaced. */
const OVERLAP = 64;
const decoder = new TextDecoder();
const NOTHING = new Uint8Array(0);
const COLOURS = /\u001b\[[0-9;]*[A-Za-z]/g;

export class LogWindow {
  /** @type {Row[]} */
  rows = [];
  start = 0;
  end = 0;
  /** Of the file, when it was last read. */
  size = 0;
  /** Grows with each change. */
  version = 0;
  /** The bytes of the first row while its beginning may be missing. */
  #head = NOTHING;
  /** The bytes after the last line end. */
  #tail = NOTHING;
  #overlap = NOTHING;

  /** @param {{most?: number, rowBytes?: number}} [limits] how many bytes are kept, and in one row */
  constructor({ most = 8 << 20, rowBytes = 4096 } = {}) {
    this.most = most;
    this.rowBytes = rowBytes;
  }

  /** How many more bytes can be taken before rows are dropped. */
  get room() {
    return Math.max(0, this.most - (this.end - this.start));
  }

  /** Forget everything and begin with this piece. @param {Piece} piece */
  reset({ bytes, start, size }) {
    this.rows = [];
    this.start = this.end = start;
    this.size = size;
    this.#head = this.#tail = this.#overlap = NOTHING;
    this.#append(bytes);
    this.#head = start > 0 && this.rows.length > 0 ? bytes.slice(0, this.rows[0].size) : NOTHING;
    this.version += 1;
  }

  /** What follows the window, and the end of what is there. @param {number} limit @returns {Wish} */
  later(limit) {
    return { offset: this.end - this.#overlap.length, limit: limit + this.#overlap.length };
  }

  /** Take what was read as `later`. The oldest rows go when there are too many. @param {Piece} piece @returns {Outcome} */
  takeLater({ bytes, start, size }) {
    const known = this.#overlap.length;
    const isSame = start === this.end - known && this.#overlap.every((byte, at) => byte === bytes[at]);
    if (!isSame || size < this.end) return 'anew';
    const more = bytes.subarray(known);
    if (more.length === 0 && size === this.size) return 'same';
    this.size = Math.max(size, this.end + more.length);
    this.#append(more);
    if (this.end - this.start > this.most) this.#dropFirst();
    this.version += 1;
    return more.length ? 'added' : 'same';
  }

  /** What precedes the window; null: nothing does. @param {number} limit @returns {Wish | null} */
  earlier(limit) {
    const length = Math.min(limit, this.start);
    return length === 0 ? null : { offset: this.start - length, limit: length };
  }

  /** Take what was read as `earlier`. The newest rows go when there are too many. @param {Piece} piece @returns {Outcome} */
  takeEarlier({ bytes, start, size }) {
    if (start + bytes.length !== this.start || size < this.end) return 'anew';
    if (bytes.length === 0) return 'same';
    this.size = size;
    this.#prepend(bytes, start);
    if (this.end - this.start > this.most) this.#dropLast();
    this.version += 1;
    return 'added';
  }

  /** @param {Uint8Array} bytes */
  #append(bytes) {
    if (this.#tail.length > 0) this.rows.pop();
    const all = joined(this.#tail, bytes);
    const from = this.end - this.#tail.length;
    const cut = cutRows(all, from, this.rowBytes);
    for (const row of cut) this.rows.push(row); // not push(...cut): a call takes some thousand arguments only
    this.end = from + all.length;
    const last = cut.at(-1);
    this.#tail = last && all[all.length - 1] !== LINE_END ? all.slice(last.at - from) : NOTHING;
    this.#overlap = joined(this.#overlap, bytes).slice(-OVERLAP);
  }

  /** @param {Uint8Array} bytes @param {number} start */
  #prepend(bytes, start) {
    const isOne = this.rows.length === 1 && this.#tail.length > 0;
    const rest = isOne ? this.#tail : this.#head;
    const all = joined(bytes, rest);
    const cut = cutRows(all, start, this.rowBytes);
    this.rows = [...cut, ...(rest.length > 0 ? this.rows.slice(1) : this.rows)];
    this.start = start;
    if (isOne) this.#tail = all.slice((cut.at(-1)?.at ?? start) - start);
    this.#head = start > 0 ? all.slice(0, cut[0].size) : NOTHING;
  }

  /** Rows go by the quarter, so that it is not done for each line. */
  #dropFirst() {
    const from = this.end - this.most * 0.75;
    this.rows = this.rows.slice(this.rows.findIndex((row) => row.at >= from));
    this.start = this.rows[0].at;
    this.#head = NOTHING;
  }

  #dropLast() {
    const until = this.start + this.most * 0.75;
    this.rows = this.rows.slice(0, Math.max(1, this.rows.findIndex((row) => row.at + row.size > until)));
    const last = this.rows[this.rows.length - 1];
    this.end = last.at + last.size;
    this.#tail = this.#overlap = NOTHING;
  }
}

/**
 * The rows in some bytes, the last of which may have no line end.
 * @param {Uint8Array} bytes @param {number} start @param {number} most bytes of a row
 * @returns {Row[]}
 */
function cutRows(bytes, start, most) {
  const rows = [];
  let from = 0;
  while (from < bytes.length) {
    const found = bytes.indexOf(LINE_END, from);
    const lineEnd = found < 0 ? bytes.length : found + 1;
    const to = lineEnd - from <= most ? lineEnd : betweenCharacters(bytes, from + most);
    rows.push({ at: start + from, size: to - from, text: textOf(bytes.subarray(from, to)) });
    from = to;
  }
  return rows;
}

/** The next place at or before `at` where a character of UTF-8 begins. @param {Uint8Array} bytes @param {number} at */
function betweenCharacters(bytes, at) {
  let place = at;
  while (place > at - 4 && continues(bytes[place])) place -= 1;
  return place;
}

/** @param {number} byte */
function continues(byte) {
  return (byte & 0xc0) === 0x80;
}

/** What is cut off from a character at either end is left out. @param {Uint8Array} bytes */
function textOf(bytes) {
  let first = 0;
  while (first < 3 && continues(bytes[first])) first += 1;
  const text = decoder.decode(bytes.subarray(first, wholeUntil(bytes)));
  return text.replace(/\r?\n$/, '').replace(COLOURS, '');
}

/** Where the last whole character ends. @param {Uint8Array} bytes */
function wholeUntil(bytes) {
  let lead = bytes.length - 1;
  while (lead > bytes.length - 4 && continues(bytes[lead])) lead -= 1;
  const length = bytes[lead] >= 0xf0 ? 4 : bytes[lead] >= 0xe0 ? 3 : bytes[lead] >= 0xc0 ? 2 : 1;
  return lead + length > bytes.length ? lead : bytes.length;
}

/** @param {Uint8Array} a @param {Uint8Array} b */
function joined(a, b) {
  if (a.length === 0) return b;
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
