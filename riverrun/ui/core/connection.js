// Whether the JobManager answers at all, judged by what becomes of the requests.

/** @typedef {import('./api.js').Problem} Problem */

/** Whether nobody answered. @param {Problem | undefined} problem */
export function isSilence(problem) {
  return problem?.kind === 'away' || problem?.kind === 'slow';
}

export class Connection {
  constructor() {
    /** When it last answered, in milliseconds since the epoch; 0: never. */
    this.last = 0;
    /** @type {Problem | undefined} why it does not */
    this.problem = undefined;
    /** @type {Set<() => void>} called when it is lost or back */
    this.watchers = new Set();
  }

  /** @param {number} at @returns {boolean} whether it was away before */
  answered(at) {
    this.last = at;
    if (!this.problem) return false;
    this.problem = undefined;
    this.#tell();
    return true;
  }

  /**
   * One request that fails says nothing when others were answered meanwhile: then it is told only where
   * its answer would be shown.
   * @param {Problem} problem
   * @param {number} began when the request was sent
   * @param {number} at when it failed
   * @returns {boolean} whether it was away before, and is back: it refused, but it is there
   */
  failed(problem, began, at) {
    const silent = isSilence(problem);
    if (!silent && problem.kind !== 'denied') return this.answered(at);
    if (silent && this.last > began) return false;
    this.problem = problem;
    this.#tell();
    return false;
  }

  #tell() {
    for (const watcher of this.watchers) watcher();
  }
}
