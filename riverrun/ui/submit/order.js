// What is sent when a program is to be run, and what keeps it from being sent.

import { settings, shellWords } from './arguments.js';

/**
 * The fields as they are typed.
 * @typedef {object} Fields
 * @property {string} arguments
 * @property {string} module
 * @property {string} parallelism
 * @property {string} savepoint
 * @property {boolean} allowNonRestored
 * @property {string} claimMode
 * @property {string} settings
 */

/** @type {Fields} */
export const EMPTY = {
  arguments: '', module: '', parallelism: '', savepoint: '', allowNonRestored: false, claimMode: 'NO_CLAIM', settings: '',
};

/** Why this file is no program; undefined: it may be one. @param {string} name */
export function whyNoProgram(name) {
  if (/\.(py|zip)$/i.test(name)) return undefined;
  return `“${name}” is no program: expected a .py file, or a .zip with a __main__.py.`;
}

/** Whether the program is an archive, of which any module can be run. @param {string} name */
export function isArchive(name) {
  return name.toLowerCase().endsWith('.zip');
}

/**
 * What is wrong with the fields, by their names.
 * @param {Fields} fields
 * @returns {Partial<Record<keyof Fields, string>>}
 */
export function problemsOf(fields) {
  /** @type {Partial<Record<keyof Fields, string>>} */
  const found = {};
  const { problem: inArguments } = shellWords(fields.arguments);
  if (inArguments) found.arguments = inArguments;
  const { problem: inSettings } = settings(fields.settings);
  if (inSettings) found.settings = inSettings;
  if (fields.parallelism.trim() && !/^[1-9]\d*$/.test(fields.parallelism.trim())) {
    found.parallelism = 'Expected a whole number of at least 1, or nothing.';
  }
  return found;
}

/**
 * The body of POST /jars/{id}/plan; what is not given is not in it.
 * @param {Fields} fields
 * @param {string} program its file name
 */
export function planBody(fields, program) {
  const module = fields.module.trim();
  const parallelism = fields.parallelism.trim();
  return {
    programArgsList: shellWords(fields.arguments).words,
    flinkConfiguration: settings(fields.settings).config,
    ...(isArchive(program) && module && { entryClass: module }),
    ...(parallelism && { parallelism: Number(parallelism) }),
  };
}

/** The body of POST /jars/{id}/run. @param {Fields} fields @param {string} program */
export function runBody(fields, program) {
  const savepoint = fields.savepoint.trim();
  return {
    ...planBody(fields, program),
    ...(savepoint && { savepointPath: savepoint, allowNonRestoredState: fields.allowNonRestored, claimMode: fields.claimMode }),
  };
}
