// Questions about a snapshot. What it holds never changes, so each is asked once, and may take its time.

import { get, Problem } from '../core/api.js';
import { useEffect, useState } from '../core/view.js';
import { latestOf } from './snapshots.js';

const PATIENCE_MS = 150_000;
const AGAIN_MS = 3000;
const TRIES = 5;

/**
 * Where a snapshot is: at a path, or wherever the newest of a job is when something is asked. Jobs delete old
 * checkpoints, so that the newest of before may be gone. Another round asks everything anew; what was found stays until then.
 * @typedef {{path?: string, job?: string, round?: number}} Source
 *
 * @typedef {object} Asked
 * @property {any} value undefined: no answer yet
 * @property {string | undefined} path of the snapshot that was read
 * @property {Problem | undefined} problem
 * @property {boolean} again whether it is asked again by itself
 * @property {() => void} refresh
 */

/**
 * @param {Source} source @param {string} what 'states', 'keys' and so on
 * @param {Record<string, string | number | undefined>} query @param {AbortSignal} signal
 * @returns {Promise<{value: any, path: string}>}
 */
export async function answerOf(source, what, query, signal) {
  for (let left = TRIES; ; left -= 1) {
    const path = source.path ?? latestOf(await get(`/jobs/${source.job}/checkpoints`, { signal }));
    if (path === undefined) throw new Problem('gone', 'the job has no complete checkpoint or savepoint yet');
    try {
      return { value: await get(addressOf(what, { path, ...query }), { signal, patience: PATIENCE_MS }), path };
    } catch (error) {
      const replaced = source.path === undefined && error instanceof Problem && error.kind === 'gone';
      if (!replaced || left === 1) throw error;
    }
  }
}

/** @param {string} what @param {Record<string, string | number | undefined>} query */
function addressOf(what, query) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) words.set(name, String(value));
  return `/snapshots${what && '/'}${what}?${words}`;
}

/**
 * @param {Source} source @param {string} what
 * @param {Record<string, string | number | undefined> | null} query null: nothing is asked
 * @returns {Asked}
 */
export function useAsked(source, what, query) {
  const question = query && JSON.stringify([source.path, source.job, what, query]);
  const [turn, setTurn] = useState(0);
  const [found, setFound] = useState(/** @type {any} */ ({}));
  useEffect(() => {
    if (query === null) return undefined;
    const ended = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    answerOf(source, what, query, ended.signal).then(
      (answer) => setFound({ question, ...answer }),
      (error) => {
        if (ended.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem('broken', String(error));
        const again = ['away', 'slow', 'broken', 'denied'].includes(problem.kind);
        setFound({ question, problem, again });
        if (again) timer = setTimeout(() => setTurn((n) => n + 1), AGAIN_MS);
      },
    );
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [question, source.round, turn]);
  const { value, path, problem, again = false } = found.question === question ? found : {};
  return { value, path, problem, again, refresh: () => setTurn((n) => n + 1) };
}
