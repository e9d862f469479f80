// The names of calls taken apart: 'module.function:line', and whose code it is.

/**
 * program: the user's, with the libraries that it calls; riverrun: the engine; spark: what hosts it;
 * python: the standard library.
 * @typedef {'program' | 'riverrun' | 'spark' | 'python'} Owner
 */

/** @type {Record<Owner, string>} */
export const OWNERS = {
  program: 'your program',
  riverrun: 'riverrun',
  spark: 'Spark',
  python: "Python's own modules",
};

const SPARK = new Set(['pyspark', 'py4j']);

/** What a program is likely to be seen in, of the modules that come with Python. */
const STANDARD = new Set(`
  abc argparse array ast asyncio atexit base64 bisect builtins bz2 calendar cmath codecs collections concurrent
  configparser contextlib contextvars copy copyreg csv ctypes dataclasses datetime dbm decimal difflib email encodings
  enum faulthandler fnmatch fractions ftplib functools gc genericpath getpass gettext glob graphlib gzip hashlib heapq
  hmac html http imaplib importlib inspect io ipaddress itertools json keyword linecache locale logging lzma math
  mimetypes mmap multiprocessing ntpath numbers operator os pathlib pickle pickletools pkgutil platform posixpath pprint
  queue quopri random re reprlib resource runpy sched secrets select selectors shelve shlex shutil signal site smtplib
  socket socketserver sqlite3 ssl stat statistics string stringprep struct subprocess symtable sys sysconfig tarfile
  tempfile textwrap threading time timeit token tokenize tomllib traceback tracemalloc types typing unicodedata unittest
  urllib uuid warnings weakref webbrowser xml xmlrpc zipapp zipfile zipimport zlib zoneinfo`.trim().split(/\s+/));

/** @param {string} name @returns {{call: string, line: number | undefined}} */
export function callOf(name) {
  const found = /^(.*):(\d+)$/.exec(name);
  return found ? { call: found[1], line: Number(found[2]) } : { call: name, line: undefined };
}

/**
 * Whose code a call is. A program is the interpreter's main module too, but so is what starts a worker:
 * what riverrun has called is the program's.
 * @param {string} name
 * @param {boolean} inRiverrun whether one of the calls before is riverrun's
 * @returns {Owner}
 */
export function ownerOf(name, inRiverrun) {
  const top = name.slice(0, Math.max(0, name.indexOf('.'))) || name;
  if (top === 'riverrun') return 'riverrun';
  if (SPARK.has(top)) return 'spark';
  if (top.startsWith('_') && top !== '__main__') return 'python';
  if (STANDARD.has(top)) return 'python';
  return inRiverrun ? 'program' : 'spark';
}

/** What fits on a box, the end of the name: from the class on, or the function; what has no name, with whose it is.
 * @param {string} name */
export function shortName(name) {
  const steps = name.split('.');
  const ofClass = steps.findIndex((step, at) => at > 0 && /^_*[A-Z]/.test(step));
  if (ofClass > 0) return steps.slice(ofClass).join('.');
  const named = steps.findLastIndex((step) => !step.startsWith('<'));
  return steps.slice(Math.max(0, named)).join('.');
}
