// Finding words in the rows of a log.

/** @typedef {import('./window.js').Row} Row */
/** Where something was found: in the row that begins at byte `at`, from column `from` on.
 * @typedef {{at: number, from: number}} Hit */

const MOST_HITS = 10_000;

/** The words that are looked for, whatever their case; remembers what it found in each row. */
export class Search {
  /** @type {WeakMap<Row, [number, number][]>} */
  #known = new WeakMap();

  /** @param {string} words */
  constructor(words) {
    this.words = words;
    this.pattern = words ? new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'gi') : null;
  }

  /** From and to which column the words stand in a row. @param {Row} row @returns {[number, number][]} */
  places(row) {
    if (!this.pattern) return [];
    let places = this.#known.get(row);
    if (!places) {
      places = [...row.text.matchAll(this.pattern)].map((match) => [match.index, match.index + match[0].length]);
      this.#known.set(row, places);
    }
    return places;
  }

  /** All hits, in order; there may be more than are told. @param {Row[]} rows @returns {{hits: Hit[], hasMore: boolean}} */
  hits(rows) {
    /** @type {Hit[]} */
    const hits = [];
    if (!this.pattern) return { hits, hasMore: false };
    for (let at = rows.length - 1; at >= 0; at -= 1) {
      const places = this.places(rows[at]);
      for (let n = places.length - 1; n >= 0; n -= 1) {
        if (hits.length === MOST_HITS) return { hits: hits.reverse(), hasMore: true };
        hits.push({ at: rows[at].at, from: places[n][0] });
      }
    }
    return { hits: hits.reverse(), hasMore: false };
  }
}

/**
 * The hit to go to: the next or the one before, round and round; without a current one, the first from `place`
 * on, else the last before it.
 * @param {Hit[]} hits
 * @param {Hit | null} current
 * @param {1 | -1} step
 * @param {number} place where the first row in sight begins
 * @returns {Hit | null}
 */
export function nextHit(hits, current, step, place) {
  if (hits.length === 0) return null;
  const index = indexOf(hits, current);
  if (index >= 0) return hits[(index + step + hits.length) % hits.length];
  const from = current ?? { at: place, from: 0 };
  const after = hits.findIndex((hit) => hit.at > from.at || (hit.at === from.at && hit.from >= from.from));
  if (after < 0) return hits[step > 0 && current ? 0 : hits.length - 1];
  return step > 0 ? hits[after] : hits[(after - 1 + hits.length) % hits.length];
}

/** @param {Hit[]} hits @param {Hit | null} hit */
export function indexOf(hits, hit) {
  return hit ? hits.findIndex(({ at, from }) => at === hit.at && from === hit.from) : -1;
}

/**
 * A text in parts, those that were found marked.
 * @param {string} text
 * @param {[number, number][]} places
 * @returns {{text: string, from: number, found: boolean}[]}
 */
export function inParts(text, places) {
  const parts = [];
  let done = 0;
  for (const [from, to] of places) {
    if (from > done) parts.push({ text: text.slice(done, from), from: done, found: false });
    parts.push({ text: text.slice(from, to), from, found: true });
    done = to;
  }
  if (done < text.length) parts.push({ text: text.slice(done), from: done, found: false });
  return parts;
}
