// What threads do, read from the text of a thread dump.

/**
 * @typedef {{call: string, file: string, line: string}} Frame
 * @typedef {{key: string, name: string, facts: string, frames: Frame[], text: string}} Thread
 * facts: what is said of it beside its name; frames: the innermost first
 */

const HEAD = /^"(.*)"(.*)$/;
const FRAME = /^\s*at (.*?) \((.*):(\d+)\)$/;

/** @param {{threadName: string, stringifiedThreadInfo: string}[]} infos @returns {Thread[]} */
export function threadsIn(infos) {
  return infos.map(({ threadName, stringifiedThreadInfo: text }, at) => {
    const [head, ...lines] = text.trimEnd().split('\n');
    const frames = lines.flatMap((line) => {
      const found = FRAME.exec(line);
      return found ? [{ call: found[1], file: found[2], line: found[3] }] : [];
    });
    return { key: `${at} ${threadName}`, name: threadName, facts: (HEAD.exec(head)?.[2] ?? '').trim(), frames, text };
  });
}

/** What a thread does at this moment: 'wait in threading.py:331'. @param {Thread} thread */
export function doing(thread) {
  const inner = thread.frames[0];
  return inner ? `${inner.call} in ${shortFile(inner.file)}:${inner.line}` : 'no Python code';
}

/** The last part of a path, with its folder: 'worker/mailbox.py'. @param {string} path */
export function shortFile(path) {
  return path.split('/').slice(-2).join('/');
}
