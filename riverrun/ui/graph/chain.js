// The operators that are chained in a vertex of a plan, as a tree drawn in lines.

/**
 * @typedef {object} ChainLine
 * @property {string} name without the word for its kind
 * @property {'source' | 'sink' | 'operator'} kind
 * @property {number} depth how far it is set in: operators after a fork stand deeper
 * @property {string | undefined} sideOutput the side output of the operator before it that it reads
 */

const KINDS = /** @type {const} */ ({ 'Source: ': 'source', 'Sink: ': 'sink' });

/**
 * As the plan tells it, or read from the vertex's name where it does not.
 * @param {any} node of a plan
 * @returns {ChainLine[]}
 */
export function chainOf(node) {
  const told = node.operators ?? [];
  return told.length ? fromOperators(told) : fromName(String(node.description ?? ''));
}

/** What a vertex is called in a sentence: by its first operator. @param {any} node */
export function shortName(node) {
  return chainOf(node)[0]?.name || 'unnamed';
}

/** @param {any[]} operators */
function fromOperators(operators) {
  /** @type {any[][]} */
  const children = operators.map(() => []);
  /** @type {any[]} */
  const heads = [];
  for (const [at, { parent }] of operators.entries()) {
    (children[parent ?? -1] ?? heads).push(at);
  }
  /** @type {ChainLine[]} */
  const lines = [];
  /** @type {(at: number, depth: number) => void} */
  const add = (at, depth) => {
    lines.push(line(operators[at].name, depth, operators[at].side_output));
    const next = children[at];
    for (const child of next) add(child, next.length > 1 ? depth + 1 : depth);
  };
  for (const head of heads) add(head, 0);
  return lines;
}

/** @param {string} name @param {number} depth @param {string} [sideOutput] @returns {ChainLine} */
function line(name, depth, sideOutput) {
  for (const [word, kind] of Object.entries(KINDS)) {
    if (name.startsWith(word) && name.length > word.length) return { name: name.slice(word.length), kind, depth, sideOutput };
  }
  return { name, kind: 'operator', depth, sideOutput };
}

/** 'a -> (b -> c, d)' in lines. @param {string} text @param {number} [depth] @returns {ChainLine[]} */
function fromName(text, depth = 0) {
  const lines = [];
  for (const [at, part] of parts(text, ' -> ').entries()) {
    const fork = at > 0 && part.startsWith('(') && part.endsWith(')');
    if (fork) for (const branch of parts(part.slice(1, -1), ', ')) lines.push(...fromName(branch, depth + 1));
    else lines.push(line(part.trim(), depth));
  }
  return lines;
}

/** The text between separators that stand in no brackets. @param {string} text @param {string} separator */
function parts(text, separator) {
  const found = [];
  let open = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '(') open += 1;
    else if (text[at] === ')') open -= 1;
    else if (open === 0 && text.startsWith(separator, at)) {
      found.push(text.slice(from, at));
      from = at + separator.length;
      at = from - 1;
    }
  }
  return [...found, text.slice(from)];
}
