// Answers that stay fresh: each path is asked once for all who show it, again and again while they do.

import { get, isOutage, Problem } from './api.js';
import { useEffect, useState } from './view.js';

const SLOWEST_MS = 15_000;

/**
 * @template T
 * @typedef {object} Live
 * @property {T | undefined} value the last answer; stays when a later request fails
 * @property {Problem | undefined} problem why the last request failed
 * @property {number} at when the last answer came, in milliseconds since the epoch; 0: never
 * @property {() => void} refresh asks at once
 */

/** One path that is asked regularly. */
class Feed {
  /** @param {string} path */
  constructor(path) {
    this.path = path;
    /** @type {Map<object, {every: number, tell: () => void}>} */
    this.listeners = new Map();
    /** @type {any} */
    this.value = undefined;
    /** @type {Problem | undefined} */
    this.problem = undefined;
    this.at = 0;
    this.failures = 0;
    this.asking = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** @param {object} key @param {number} every @param {() => void} tell */
  add(key, every, tell) {
    this.listeners.set(key, { every, tell });
    if (!this.asking) this.schedule(this.at && Date.now() - this.at < every ? every : 0);
  }

  /** @param {object} key */
  remove(key) {
    this.listeners.delete(key);
    if (this.listeners.size === 0) clearTimeout(this.timer);
  }

  /** @param {number} wait */
  schedule(wait) {
    clearTimeout(this.timer);
    if (wait !== Infinity) this.timer = setTimeout(() => this.ask(), wait);
  }

  async ask() {
    if (this.asking || this.listeners.size === 0) return;
    if (document.hidden) return; // asked again when the page is looked at
    this.asking = true;
    try {
      this.value = await get(this.path);
      this.problem = undefined;
      this.at = Date.now();
      this.failures = 0;
      connection.answered();
    } catch (error) {
      this.problem = error instanceof Problem ? error : new Problem('broken', String(error));
      this.failures += 1;
      connection.failed(this.problem);
    }
    this.asking = false;
    for (const { tell } of [...this.listeners.values()]) tell();
    if (this.listeners.size > 0) this.schedule(this.pause());
  }

  pause() {
    const every = Math.min(...[...this.listeners.values()].map((listener) => listener.every));
    // What is not there may still come (a job that has just been sent), but is not asked for as often.
    return this.failures ? Math.min(Math.max(every, 1000) * 2 ** (this.failures - 1), SLOWEST_MS) : every;
  }
}

/** @type {Map<string, Feed>} */
const feeds = new Map();
const MOST_FEEDS = 500;

/** @param {string} path */
function feedOf(path) {
  let feed = feeds.get(path);
  if (!feed) {
    feed = new Feed(path);
    feeds.set(path, feed);
    for (const [old, unused] of feeds) {
      if (feeds.size <= MOST_FEEDS) break;
      if (unused.listeners.size === 0 && unused !== feed) feeds.delete(old);
    }
  }
  return feed;
}

/**
 * The answer of a GET, asked again while the component is shown.
 * @param {string | null} path null: nothing is asked
 * @param {number} [every] milliseconds between the end of a request and the next; Infinity: asked once
 * @returns {Live<any>}
 */
export function useLive(path, every = 1000) {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const feed = feedOf(path);
    const key = {};
    feed.add(key, every, () => redraw((n) => n + 1));
    return () => feed.remove(key);
  }, [path, every]);
  if (path === null) return { value: undefined, problem: undefined, at: 0, refresh() {} };
  const feed = feedOf(path);
  return { value: feed.value, problem: feed.problem, at: feed.at, refresh: () => feed.schedule(0) };
}

/** Ask everything that is shown, at once: after an action that changes it. */
export function refreshAll() {
  for (const feed of feeds.values()) if (feed.listeners.size > 0) feed.schedule(0);
}

/** Whether the JobManager answers at all. */
export const connection = {
  /** When it last answered; 0: never. */
  last: 0,
  /** @type {Problem | undefined} why it does not */
  problem: /** @type {Problem | undefined} */ (undefined),
  /** @type {Set<() => void>} */
  watchers: new Set(),

  answered() {
    connection.last = Date.now();
    if (connection.problem) {
      connection.problem = undefined;
      refreshAll();
      connection.tell();
    }
  },

  /** @param {Problem} problem */
  failed(problem) {
    if (!isOutage(problem) && problem.kind !== 'denied') {
      connection.answered(); // It said no, but it is there.
      return;
    }
    connection.problem = problem;
    connection.tell();
  },

  tell() {
    for (const watcher of connection.watchers) watcher();
  },
};

document.addEventListener('visibilitychange', () => {
  if (!document.hidden) refreshAll();
});
