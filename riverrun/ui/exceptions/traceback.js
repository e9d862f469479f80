// A Python traceback, taken apart: what was raised, where in the user's code, and what led to it.

/**
 * @typedef {{file: string, line: number, name: string, code: string[], own: boolean}} Frame own: of the user's code
 * @typedef {{relation: '' | 'cause' | 'context', frames: Frame[], message: string}} Section
 * relation: how it led to the section before it in the result
 * @typedef {{own: boolean, frames: Frame[]}} Run frames of one kind that follow each other
 */

const HEAD = 'Traceback (most recent call last):';
const FRAME = /^\s*File "(.*)", line (\d+)(?:, in (.*))?$/;
/** @type {[string, 'cause' | 'context'][]} */
const RELATIONS = [
  ['The above exception was the direct cause of the following exception:', 'cause'],
  ['During handling of the above exception, another exception occurred:', 'context'],
];
const ENGINE = new RegExp(
  '/riverrun/(api|cep|checkpoint|cli|client|cluster|connectors|core|datastream|graph|local|metrics|protocol|rest|runtime'
  + '|serde|spark|state|state_processor|storage|table|testing)/',
);
const LIBRARY = /\/(site|dist)-packages\/|\/lib\/python3?[^/]*\/|\/pyspark\/|^<frozen /;

/** Whether a file is the user's own. @param {string} file */
export function isOwn(file) {
  return !ENGINE.test(file) && !LIBRARY.test(file);
}

/**
 * The exception that was raised last comes first, then what led to it. Null: the text is no traceback of this form.
 * @param {string} text
 * @returns {Section[] | null}
 */
export function sectionsOf(text) {
  if (!text.includes(HEAD) || /^\s*\+ Exception Group/m.test(text)) return null;
  /** @type {Section[]} */
  const found = [];
  /** @type {'cause' | 'context' | ''} */
  let relation = '';
  let lines = /** @type {string[]} */ ([]);
  for (const line of text.trimEnd().split('\n')) {
    const between = RELATIONS.find(([words]) => line === words);
    if (between) {
      found.push({ ...sectionOf(lines), relation: between[1] });
      relation = between[1];
      lines = [];
    } else lines.push(line);
  }
  if (relation && !lines.some((line) => line.trim())) return null;
  found.push({ ...sectionOf(lines), relation: '' });
  return found.reverse();
}

/** @param {string[]} lines @returns {{frames: Frame[], message: string}} */
function sectionOf(lines) {
  /** @type {Frame[]} */
  const frames = [];
  const message = [];
  let ended = false;
  for (const line of lines) {
    const frame = ended ? null : FRAME.exec(line);
    if (frame) frames.push({ file: frame[1], line: Number(frame[2]), name: frame[3] ?? '', code: [], own: isOwn(frame[1]) });
    else if (!ended && frames.length > 0 && /^\s{2,}/.test(line)) frames[frames.length - 1].code.push(line.replace(/^ {4}/, ''));
    else if (line !== HEAD || ended) {
      ended ||= line.trim() !== '';
      message.push(line);
    }
  }
  return { frames, message: message.join('\n').trim() };
}

/**
 * Frames in their order, those of one kind together. Where none is the user's own, all are shown as if they were:
 * they are all there is to see.
 * @param {Frame[]} frames
 * @returns {Run[]}
 */
export function runsOf(frames) {
  const none = !frames.some(({ own }) => own);
  /** @type {Run[]} */
  const runs = [];
  for (const frame of frames) {
    const own = none || frame.own;
    if (runs.at(-1)?.own === own) runs[runs.length - 1].frames.push(frame);
    else runs.push({ own, frames: [frame] });
  }
  return runs;
}

/** The frame that the reader looks for: the last of the user's own. @param {Frame[]} frames */
export function blamed(frames) {
  return frames.findLast(({ own }) => own) ?? frames.at(-1);
}
