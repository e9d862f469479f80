// Reads a log file into a window, one request at a time: its end first, then what comes, and earlier parts.

import { LogWindow } from './window.js';

const FIRST_BYTES = 256 << 10;
const PART_BYTES = 512 << 10;
/** From so far behind, what lies between is not read but left out. */
const FAR_BYTES = 4 << 20;

/**
 * Reads a part of the file: its last `tail` bytes, or `limit` bytes from `offset` on.
 * @typedef {(part: {tail: number} | import('./window.js').Wish) => Promise<import('./window.js').Piece>} Read
 */

export class LogReader {
  /** Why the last request failed; '' if it did not. */
  problem = '';
  isOpen = false;
  /** How often the file turned out to be another one than before. */
  anew = 0;
  /** The request that others wait for. */
  #last = Promise.resolve();
  /** Whether earlier parts are being searched. */
  #isSearching = false;

  /** @param {Read} read @param {() => void} [tell] called after each change @param {LogWindow} [window] */
  constructor(read, tell = () => {}, window = new LogWindow()) {
    this.read = read;
    this.tell = tell;
    this.window = window;
  }

  get hasEarlier() {
    return this.window.start > 0;
  }

  get hasLater() {
    return this.window.end < this.window.size;
  }

  /** Show the end of the file. */
  open() {
    return this.#alone(() => this.#open());
  }

  /** Load the part before the window. */
  earlier() {
    return this.#alone(() => this.#earlier());
  }

  /**
   * Load earlier parts until something is found in one, or there are no more.
   * @param {(rows: import('./window.js').Row[]) => boolean} isIn
   * @param {AbortSignal} signal
   * @param {() => void} [show] called when it was found, before new lines can push it out of the window
   * @returns {Promise<boolean>} whether it was found
   */
  async earlierUntil(isIn, signal, show = () => {}) {
    this.#isSearching = true;
    try {
      while (this.hasEarlier && !signal.aborted) {
        const { start } = this.window;
        await this.earlier();
        if (this.problem || this.window.start >= start) return false;
        if (isIn(this.window.rows.filter((row) => row.at < start))) {
          show();
          return true;
        }
      }
      return false;
    } finally {
      this.#isSearching = false;
    }
  }

  /**
   * Look for what was written since. A reader at the end gets there again, however much came; one who is
   * not loses no rows: when the window is full, new ones wait.
   * @param {boolean} atEnd
   */
  look(atEnd) {
    return this.#alone(() => this.#look(atEnd));
  }

  /**
   * The same by itself. Where the reader is counts when the request begins, not when it began to wait; while
   * earlier parts are searched, it is not the end.
   * @param {() => boolean} isAtEnd
   */
  follow(isAtEnd) {
    return this.#alone(() => this.#look(isAtEnd() && !this.#isSearching));
  }

  /** @param {boolean} atEnd */
  async #look(atEnd) {
    if (!this.isOpen) await this.#open();
    else if (!atEnd) await this.#later(Math.min(PART_BYTES, this.window.room));
    else await this.#toEnd();
  }

  async #toEnd() {
    await this.#later(PART_BYTES);
    if (this.window.size - this.window.end > FAR_BYTES) await this.#open();
    while (this.hasLater) await this.#later(PART_BYTES);
  }

  async #open() {
    this.window.reset(await this.read({ tail: FIRST_BYTES }));
    this.isOpen = true;
  }

  /** @param {number} limit */
  async #later(limit) {
    await this.#afterAnew(this.window.takeLater(await this.read(this.window.later(limit))));
  }

  async #earlier() {
    const wish = this.window.earlier(PART_BYTES);
    if (wish) await this.#afterAnew(this.window.takeEarlier(await this.read(wish)));
  }

  /** @param {import('./window.js').Outcome} outcome */
  async #afterAnew(outcome) {
    if (outcome !== 'anew') return;
    this.anew += 1;
    await this.#open();
  }

  /** @param {() => Promise<void>} step */
  #alone(step) {
    this.#last = this.#last.then(async () => {
      try {
        await step();
        this.problem = '';
      } catch (error) {
        this.problem = error instanceof Error ? error.message : String(error);
      }
      this.tell();
    });
    return this.#last;
  }
}
