// How far event time is, and how far behind the clock.

import { clock, duration, moment, NONE } from '../core/format.js';

const BEGINNING = -9.2e18;
const END = 9.2e18;
const DAY_MS = 86_400_000;

/**
 * unknown: not told; before: no watermark has come yet; at: a time; end: there will be no more records.
 * @typedef {{kind: 'unknown' | 'before' | 'at' | 'end', at?: number}} Watermark
 */

/** A watermark from the value of its metric. @param {number | null | undefined} value @returns {Watermark} */
export function watermarkOf(value) {
  if (typeof value !== 'number' || Number.isNaN(value)) return { kind: 'unknown' };
  if (value <= BEGINNING) return { kind: 'before' };
  if (value >= END) return { kind: 'end' };
  return { kind: 'at', at: value };
}

/** How far the watermark is behind the clock; undefined where that means nothing.
 * @param {Watermark} watermark @param {number} now */
export function lagOf(watermark, now) {
  return watermark.at === undefined ? undefined : now - watermark.at;
}

/** @param {Watermark} watermark @param {number} now */
export function watermarkInWords(watermark, now) {
  switch (watermark.kind) {
    case 'unknown': return NONE;
    case 'before': return 'none yet';
    case 'end': return 'the end';
    default: {
      const at = /** @type {number} */ (watermark.at);
      if (at <= 0) return `${at} ms`;
      return Math.abs(now - at) < DAY_MS ? clock(at) : moment(at);
    }
  }
}

/** @param {number | undefined} lag */
export function lagInWords(lag) {
  if (lag === undefined) return NONE;
  return lag < 0 ? `${duration(-lag)} ahead` : duration(lag);
}

/** What rows are sorted by: those that lag most are the lowest. @param {Watermark} watermark */
export function watermarkOrder({ kind, at }) {
  if (kind === 'unknown') return undefined;
  if (kind === 'at') return at;
  return kind === 'before' ? BEGINNING : END;
}

/**
 * The one that holds all others back.
 * @template {{watermark: Watermark}} R
 * @param {readonly R[]} rows
 * @returns {R | undefined}
 */
export function furthestBehind(rows) {
  /** @type {R | undefined} */
  let lowest;
  for (const row of rows) {
    const order = watermarkOrder(row.watermark);
    if (order === undefined) continue;
    if (!lowest || order < /** @type {number} */ (watermarkOrder(lowest.watermark))) lowest = row;
  }
  return lowest;
}
