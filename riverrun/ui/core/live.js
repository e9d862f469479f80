// Answers that stay fresh: each path is asked once for all who show it, again and again while they do.

import { get, Problem } from './api.js';
import { Connection, isSilence } from './connection.js';
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
    if (this.asking) return;
    const due = this.at ? this.at + this.shortest() - Date.now() : 0;
    this.schedule(Math.max(0, due));
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
    const began = Date.now();
    let back;
    try {
      this.value = await get(this.path);
      this.problem = undefined;
      this.at = Date.now();
      this.failures = 0;
      back = connection.answered(this.at);
    } catch (error) {
      this.problem = error instanceof Problem ? error : new Problem('broken', String(error));
      this.failures += 1;
      back = connection.failed(this.problem, began, Date.now());
    }
    this.asking = false;
    for (const { tell } of [...this.listeners.values()]) tell();
    if (this.listeners.size > 0) this.schedule(this.pause());
    if (back) refreshFailed();
  }

  shortest() {
    return Math.max(pace.least, Math.min(...[...this.listeners.values()].map((listener) => listener.every)));
  }

  pause() {
    const every = this.shortest();
    // What is not there may still come (a job that has just been sent), but is not asked for as often.
    return this.failures ? Math.min(Math.max(every, 1000) * 2 ** (this.failures - 1), SLOWEST_MS) : every;
  }
}

/** The shortest pause between two requests for the same thing, as the JobManager wants it. */
export const pace = { least: 0 };

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

/** Ask what failed, without waiting for its turn: when the JobManager is back. */
function refreshFailed() {
  for (const feed of feeds.values()) if (feed.listeners.size > 0 && isSilence(feed.problem)) feed.schedule(0);
}

export const connection = new Connection();

document.addEventListener('visibilitychange', () => {
  if (!document.hidden) refreshAll();
});
