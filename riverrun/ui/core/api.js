// Calls of the REST interface. Every failure is a Problem that says what kind of trouble it is.

const PATIENCE_MS = 10_000;
const TOKEN = 'riverrun-token';

/**
 * away: nobody answers; slow: no answer in time; denied: the token is missing or wrong;
 * gone: what was asked for is not there; refused: the request is not possible; broken: the server failed.
 * @typedef {'away' | 'slow' | 'denied' | 'gone' | 'refused' | 'broken'} Trouble
 */

/** A request that did not get what it asked for. */
export class Problem extends Error {
  /**
   * @param {Trouble} kind
   * @param {string} message
   * @param {number} [status]
   */
  constructor(kind, message, status = 0) {
    super(message);
    this.name = 'Problem';
    this.kind = kind;
    this.status = status;
  }
}

/** The token is kept for this tab only. */
export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  /** @param {string} value */
  set: (value) => sessionStorage.setItem(TOKEN, value),
};

/**
 * @typedef {object} Asking
 * @property {unknown} [json] sent as the body
 * @property {FormData | Blob} [form] sent as the body
 * @property {AbortSignal} [signal]
 * @property {number} [patience] milliseconds
 */

/**
 * The answer as it came. The path begins with '/', in the words of docs/reference/rest.md.
 * @param {string} method
 * @param {string} path
 * @param {Asking} [asking]
 * @returns {Promise<Response>}
 */
export async function call(method, path, asking = {}) {
  const { json, form, signal, patience = PATIENCE_MS } = asking;
  const limit = AbortSignal.timeout(patience);
  /** @type {Record<string, string>} */
  const headers = { Accept: 'application/json, text/plain' };
  const secret = token.get();
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (json !== undefined) headers['Content-Type'] = 'application/json';
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: json !== undefined ? JSON.stringify(json) : form,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      cache: 'no-store',
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    if (limit.aborted) throw new Problem('slow', `no answer within ${patience / 1000} s`);
    throw new Problem('away', 'the JobManager does not answer');
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** @param {Response} response */
async function problemOf(response) {
  const text = await response.text().catch(() => '');
  let message = text || response.statusText;
  try {
    const { errors } = JSON.parse(text);
    if (Array.isArray(errors)) message = errors.filter(Boolean).join('\n');
  } catch {
    // Not our own words, but those of something in between: they are shown as they are.
  }
  return new Problem(kindOf(response.status), message, response.status);
}

/** @param {number} status @returns {Trouble} */
function kindOf(status) {
  if (status === 401) return 'denied';
  if (status === 404) return 'gone';
  return status >= 500 && status !== 501 ? 'broken' : 'refused';
}

/**
 * The answer's text, of which the end may never come.
 * @param {Response} response
 */
async function textOf(response) {
  try {
    return await response.text();
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (name === 'AbortError') throw error;
    if (name === 'TimeoutError') throw new Problem('slow', 'the answer did not end in time');
    throw new Problem('away', 'the answer broke off');
  }
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem('broken', `expected JSON, found ${text ? JSON.stringify(text.slice(0, 80)) : 'nothing'}`);
  }
}

/**
 * The JSON of a GET.
 * @param {string} path
 * @param {Asking} [asking]
 * @returns {Promise<any>}
 */
export async function get(path, asking) {
  return parsed(await textOf(await call('GET', path, asking)));
}

/**
 * The JSON that another method answers.
 * @param {string} method
 * @param {string} path
 * @param {Asking} [asking]
 * @returns {Promise<any>}
 */
export async function send(method, path, asking) {
  const text = await textOf(await call(method, path, asking));
  return text ? parsed(text) : {};
}

/**
 * Begin an operation that takes a while, and wait for its end.
 * @param {string} method
 * @param {string} path where it begins
 * @param {unknown} body
 * @param {(request: string) => string} statusPath where its end is told
 * @returns {Promise<any>} what the operation gave; a Problem with its reason when it failed
 */
export async function operation(method, path, body, statusPath) {
  const { 'request-id': request } = await send(method, path, { json: body });
  for (;;) {
    const { status, operation: outcome } = await get(statusPath(request)).catch(stillUnderWay);
    if (status.id === 'COMPLETED') {
      const cause = outcome?.['failure-cause'] ?? outcome?.failureCause;
      if (cause) throw new Problem('refused', reasonOf(cause));
      return outcome ?? {};
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

/** Silence says nothing about an operation: it goes on, and is asked about again. @param {unknown} error */
function stillUnderWay(error) {
  if (error instanceof Problem && (error.kind === 'away' || error.kind === 'slow')) {
    return { status: { id: 'IN_PROGRESS' }, operation: undefined };
  }
  throw error;
}

/** @param {any} cause */
function reasonOf(cause) {
  return cause['stack-trace'] ?? cause.stacktrace ?? cause.message ?? cause.class ?? String(cause);
}
