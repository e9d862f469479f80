// How serious a row of a log is.

/** @typedef {import('./window.js').Row} Row */
/** @typedef {'error' | 'warn' | 'plain'} Level */

/** A row that begins with a day and a time begins an entry; those after it, such as a traceback, belong to it. */
const ENTRY = /^\[?\d{2,4}[-/]\d{2}[-/]\d{2}[ T]\d{2}:\d{2}/;
const WORD = /\b(?:(ERROR|CRITICAL|FATAL|SEVERE)|(WARN|WARNING)|INFO|DEBUG|TRACE)\b/;
const FAR = 120;

/** @param {string} text @returns {Level | null} null: it belongs to the entry before */
export function levelOf(text) {
  if (!ENTRY.test(text)) return null;
  const found = WORD.exec(text.slice(0, FAR));
  if (found?.[1]) return 'error';
  return found?.[2] ? 'warn' : 'plain';
}

/** The level of the entry that a row belongs to. @param {Row[]} rows @param {number} index @returns {Level} */
export function levelAt(rows, index) {
  for (let at = index; at >= Math.max(0, index - FAR); at -= 1) {
    const level = levelOf(rows[at].text);
    if (level) return level;
  }
  return 'plain';
}
