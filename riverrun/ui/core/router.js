// Which page is shown: the part of the address after '#'.

import { useEffect, useState } from './view.js';

/**
 * @typedef {Record<string, string>} Names
 * @typedef {{path: string, title: string, view: (props: any) => any}} Page
 * A path such as '/jobs/:job/checkpoints'; the view gets {names, query}.
 */

/** The address of a page: link('/jobs', id) or link('/logs', {file: 'a.log'}).
 * @param {...(string | Record<string, string | number | undefined>)} parts */
export function link(...parts) {
  let path = '';
  const query = new URLSearchParams();
  for (const part of parts) {
    if (typeof part === 'string') path += part.startsWith('/') ? part : `/${encodeURIComponent(part)}`;
    else for (const [name, value] of Object.entries(part)) if (value !== undefined) query.set(name, String(value));
  }
  const text = query.toString();
  return `#${path}${text ? `?${text}` : ''}`;
}

/** @param {...(string | Record<string, string | number | undefined>)} parts */
export function go(...parts) {
  location.hash = link(...parts);
}

/**
 * The page for an address.
 * @param {readonly Page[]} pages
 * @param {string} hash
 * @returns {{page: Page, names: Names, query: URLSearchParams} | null}
 */
export function find(pages, hash) {
  const [path, ...rest] = hash.replace(/^#/, '').split('?');
  const query = rest.join('?');
  const steps = path.split('/').filter(Boolean);
  for (const page of pages) {
    const names = namesIn(page.path.split('/').filter(Boolean), steps);
    if (names) return { page, names, query: new URLSearchParams(query) };
  }
  return null;
}

/** @param {string[]} pattern @param {string[]} steps @returns {Names | null} */
function namesIn(pattern, steps) {
  if (pattern.length !== steps.length) return null;
  /** @type {Names} */
  const names = {};
  for (const [at, part] of pattern.entries()) {
    if (part.startsWith(':')) {
      try {
        names[part.slice(1)] = decodeURIComponent(steps[at]);
      } catch {
        return null;
      }
    } else if (part !== steps[at]) return null;
  }
  return names;
}

/** The address that is shown; the component is drawn again when it changes. */
export function useHash() {
  const [hash, set] = useState(location.hash);
  useEffect(() => {
    const changed = () => set(location.hash);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return hash;
}
