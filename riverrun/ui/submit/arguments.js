// A program's arguments and settings as people type them.

const BLANK = /\s/;
/** What a backslash keeps from having its meaning between double quotes. */
const KEPT = ['"', '\\', '$', '`', '\n'];

/**
 * The words of a command line, as a shell splits them: quotes keep blanks together, a backslash keeps the
 * next character as it is. Nothing is expanded.
 * @param {string} text
 * @returns {{words: string[], problem?: string}}
 */
export function shellWords(text) {
  const words = [];
  let word = '';
  let begun = false;
  let quote = '';
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (quote) {
      if (letter === quote) quote = '';
      else if (letter === '\\' && quote === '"' && KEPT.includes(text[at + 1])) word += text[(at += 1)];
      else word += letter;
    } else if (letter === "'" || letter === '"') {
      quote = letter;
      begun = true;
    } else if (letter === '\\') {
      if (at + 1 === text.length) return { words, problem: 'It ends with a backslash, which keeps nothing.' };
      word += text[(at += 1)];
      begun = true;
    } else if (BLANK.test(letter)) {
      if (begun) words.push(word);
      word = '';
      begun = false;
    } else {
      word += letter;
      begun = true;
    }
  }
  if (quote) return { words, problem: `A quote (${quote}) is not closed.` };
  if (begun) words.push(word);
  return { words };
}

/**
 * Settings, one on a line as key=value; empty lines and those that begin with '#' say nothing.
 * @param {string} text
 * @returns {{config: Record<string, string>, problem?: string}}
 */
export function settings(text) {
  /** @type {Record<string, string>} */
  const config = {};
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (!line || line.startsWith('#')) continue;
    const at = line.indexOf('=');
    if (at < 1) return { config, problem: `“${line}” is no setting; expected key=value.` };
    config[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return { config };
}
