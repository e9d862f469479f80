// How large a drawing is shown, and which part of it.

export const SMALLEST = 0.08;
export const LARGEST = 2;
const STEP = 1.25;
/** Below this, words are hard to read. */
const READABLE = 0.8;
/** Below this, they cannot be read: only names and colours are shown. */
const FAR = 0.45;

/**
 * @typedef {{width: number, height: number}} Size
 * @typedef {{x: number, y: number}} Point
 */

/** So that all of the drawing is in sight. @param {Size} drawing @param {Size} room */
export function fitting(drawing, room) {
  if (!(drawing.width > 0 && drawing.height > 0 && room.width > 0 && room.height > 0)) return 1;
  return within(Math.min(1, room.width / drawing.width, room.height / drawing.height));
}

/** @param {number} scale */
export function isFar(scale) {
  return scale < FAR;
}

/** What is seen first: all of it if it can be read then. @param {Size} drawing @param {Size} room */
export function atFirst(drawing, room) {
  return Math.max(READABLE, fitting(drawing, { ...room, height: Infinity }));
}

/** @param {number} scale @param {number} steps negative: smaller */
export function stepped(scale, steps) {
  return within(scale * STEP ** steps);
}

/** @param {number} scale */
export function within(scale) {
  return Math.min(LARGEST, Math.max(SMALLEST, scale));
}

/**
 * How far to scroll so that what was at a point in sight stays there when the scale changes.
 * @param {Point} scroll
 * @param {Point} at
 * @param {number} factor
 * @returns {Point}
 */
export function keeping(scroll, at, factor) {
  return { x: (scroll.x + at.x) * factor - at.x, y: (scroll.y + at.y) * factor - at.y };
}
