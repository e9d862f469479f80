// Log files as the page keeps them: rows cut from pieces, followed, searched, laid out.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { LogWindow } from '../../../riverrun/ui/logs/window.js';
import { LogReader } from '../../../riverrun/ui/logs/reader.js';
import { Search, inParts, indexOf, nextHit } from '../../../riverrun/ui/logs/search.js';
import { levelAt, levelOf } from '../../../riverrun/ui/logs/levels.js';
import { inSight, layOut, rowAt, rowOfByte } from '../../../riverrun/ui/logs/layout.js';
import { describe, inOrder, mainFile } from '../../../riverrun/ui/logs/files.js';

const bytes = (text) => new TextEncoder().encode(text);
const texts = (window) => window.rows.map((row) => row.text);

/** A file as the server reads it: a part that begins behind the end is empty and begins at the end. */
class File {
  reads = [];

  constructor(text = '') {
    this.content = bytes(text);
  }

  write(text) {
    this.content = Buffer.concat([this.content, bytes(text)]);
  }

  read = async (part) => {
    this.reads.push(part);
    const size = this.content.length;
    const start = 'tail' in part ? Math.max(0, size - part.tail) : Math.min(part.offset, size);
    return { bytes: new Uint8Array(this.content.subarray(start, start + (part.limit ?? size))), start, size };
  };
}

/** Feed a whole text in pieces of so many bytes. */
function inPieces(text, length, limits) {
  const all = bytes(text);
  const window = new LogWindow(limits);
  window.reset({ bytes: all.slice(0, length), start: 0, size: all.length });
  while (window.end < all.length) {
    const { offset, limit } = window.later(length);
    assert.equal(window.takeLater({ bytes: all.slice(offset, offset + limit), start: offset, size: all.length }), 'added');
  }
  return window;
}

test('rows are the same, however the pieces were cut', () => {
  const text = 'first\nzweite Zeile: grün €\r\n\n👍 last without an end';

  for (let length = 1; length <= bytes(text).length; length += 1) {
    assert.deepEqual(texts(inPieces(text, length)), ['first', 'zweite Zeile: grün €', '', '👍 last without an end']);
  }
});

test('earlier pieces are joined with what is there, however they are cut', () => {
  const text = 'first\nzweite Zeile: grün €\n\n👍 third\nlast';
  const all = bytes(text);

  for (let length = 1; length < all.length; length += 1) {
    const window = new LogWindow();
    const from = all.length - length;
    window.reset({ bytes: all.slice(from), start: from, size: all.length });
    for (let wish = window.earlier(length); wish; wish = window.earlier(length)) {
      const piece = all.slice(wish.offset, wish.offset + wish.limit);
      assert.equal(window.takeEarlier({ bytes: piece, start: wish.offset, size: all.length }), 'added');
    }
    assert.deepEqual(texts(window), ['first', 'zweite Zeile: grün €', '', '👍 third', 'last']);
    assert.deepEqual(window.rows.map(({ at, size }) => [at, size]), inPieces(text, 1000).rows.map(({ at, size }) => [at, size]));
  }
});

test('a character that has not come whole is not shown as a broken one', () => {
  const all = bytes('a €');
  const window = new LogWindow();

  window.reset({ bytes: all.slice(0, 3), start: 0, size: 3 });
  assert.deepEqual(texts(window), ['a ']);
  window.takeLater({ bytes: all, start: 0, size: all.length });
  assert.deepEqual(texts(window), ['a €']);
});

test('a line without an end in sight is cut into rows, between characters', () => {
  const window = inPieces('é'.repeat(25) + '\nnext\n', 7, { most: 1 << 20, rowBytes: 11 });

  assert.deepEqual(texts(window), ['ééééé', 'ééééé', 'ééééé', 'ééééé', 'ééééé', 'next']);
});

test('a file that was cut off or replaced is noticed', () => {
  const window = new LogWindow();
  const open = () => window.reset({ bytes: bytes('one\ntwo\n'), start: 0, size: 8 });

  open();
  assert.equal(window.takeLater({ bytes: bytes('x\n'), start: 0, size: 2 }), 'anew', 'shorter than before');
  open();
  assert.equal(window.takeLater({ bytes: bytes('eins\nzwei\ndrei\n'), start: 0, size: 15 }), 'anew', 'grown past our place');
  open();
  assert.equal(window.takeLater({ bytes: bytes('one\ntwo\n'), start: 0, size: 8 }), 'same');
  assert.deepEqual(texts(window), ['one', 'two']);
});

test('the window holds no more than its limit, whichever way it moves', () => {
  const line = 'x'.repeat(99) + '\n';
  const file = line.repeat(100);
  const later = inPieces(file, 500, { most: 2000 });

  assert.ok(later.end - later.start <= 2000);
  assert.equal(later.end, 10_000);
  assert.equal(later.rows[0].at, later.start);
  assert.ok(later.rows.every((row) => row.size === 100));

  for (let wish = later.earlier(500); wish; wish = later.earlier(500)) {
    later.takeEarlier({ bytes: bytes(file).slice(wish.offset, wish.offset + wish.limit), start: wish.offset, size: 10_000 });
    assert.ok(later.end - later.start <= 2000);
  }
  assert.equal(later.start, 0);
  assert.ok(later.end < later.size, 'what is below is known to be there');
  assert.ok(later.rows.every((row) => row.size === 100));
});

test('colours of terminals are not shown', () => {
  const window = inPieces('\u001b[31mred\u001b[0m\n', 100);

  assert.deepEqual(texts(window), ['red']);
});

test('a log is opened at its end and followed', async () => {
  const file = new File('x'.repeat(300_000) + '\nlast\n');
  let told = 0;
  const reader = new LogReader(file.read, () => (told += 1));

  await reader.open();
  assert.equal(reader.window.end, file.content.length);
  assert.ok(reader.hasEarlier);
  assert.equal(texts(reader.window).at(-1), 'last');

  file.write('new ');
  await reader.look(true);
  file.write('line\n');
  await reader.look(true);
  assert.deepEqual(texts(reader.window).slice(-2), ['last', 'new line']);
  assert.equal(told, 3);
});

test('an empty log is followed from its first line on', async () => {
  const file = new File();
  const reader = new LogReader(file.read);

  await reader.open();
  assert.deepEqual(texts(reader.window), []);
  file.write('first\n');
  await reader.look(true);
  assert.deepEqual(texts(reader.window), ['first']);
});

test('a log that begins anew is opened again, and the reader is told', async () => {
  const file = new File('old 1\nold 2\n');
  const reader = new LogReader(file.read);
  await reader.open();

  file.content = bytes('new 1\nnew 2\nnew 3\n');
  await reader.look(true);

  assert.deepEqual(texts(reader.window), ['new 1', 'new 2', 'new 3']);
  assert.equal(reader.anew, 1);
});

test('who reads further up loses no rows: new ones wait until the window has room', async () => {
  const line = 'x'.repeat(99) + '\n';
  const file = new File(line.repeat(10));
  const reader = new LogReader(file.read, undefined, new LogWindow({ most: 2000 }));
  await reader.open();

  file.write(line.repeat(20));
  await reader.look(false);
  await reader.look(false);
  assert.equal(reader.window.start, 0);
  assert.equal(reader.window.end, 2000);
  assert.ok(reader.hasLater);

  await reader.look(true);
  assert.equal(reader.window.end, 3000);
  assert.ok(!reader.hasLater);
});

test('who is at the end gets there again, however much was written', async () => {
  const file = new File('first\n');
  const reader = new LogReader(file.read);
  await reader.open();

  file.write('x\n'.repeat(1 << 20));
  await reader.look(true);
  assert.ok(!reader.hasLater);
  assert.equal(reader.window.start, 0);

  file.write(`${'y'.repeat(1000)}\n`.repeat(6000));
  await reader.look(true);
  assert.ok(!reader.hasLater);
  assert.ok(reader.window.start > 6_000_000, 'what lies between is left out');
});

test('a failed request is told, what is there stays, and the next one heals it', async () => {
  const file = new File('one\n');
  let isAway = false;
  const reader = new LogReader((part) => (isAway ? Promise.reject(new Error('no task answers')) : file.read(part)));
  await reader.open();

  isAway = true;
  await reader.look(true);
  assert.equal(reader.problem, 'no task answers');
  assert.deepEqual(texts(reader.window), ['one']);

  isAway = false;
  file.write('two\n');
  await reader.look(true);
  assert.equal(reader.problem, '');
  assert.deepEqual(texts(reader.window), ['one', 'two']);
});

test('a log that could not be opened is opened by the next look', async () => {
  let isAway = true;
  const file = new File('one\n');
  const reader = new LogReader((part) => (isAway ? Promise.reject(new Error('away')) : file.read(part)));

  await reader.open();
  assert.equal(reader.isOpen, false);
  isAway = false;
  await reader.look(true);
  assert.deepEqual(texts(reader.window), ['one']);
});

test('words are searched for in earlier parts until they are found', async () => {
  const line = 'x'.repeat(1023) + '\n';
  const file = new File(`needle\n${line.repeat(3000)}`);
  const reader = new LogReader(file.read);
  const search = new Search('NEEDLE');
  await reader.open();

  const isIn = (rows) => search.hits(rows).hits.length > 0;
  assert.equal(await reader.earlierUntil(isIn, new AbortController().signal), true);
  assert.equal(reader.window.start, 0);
  assert.equal(await reader.earlierUntil(() => false, new AbortController().signal), false, 'there is no more');
});

test('what was found stays although the reader was at the end and new lines are followed', async () => {
  const line = 'x'.repeat(1023) + '\n';
  const file = new File(`needle\n${line.repeat(12_000)}`);
  const reader = new LogReader(file.read);
  const search = new Search('needle');
  await reader.open();

  let isAtEnd = true;
  let isDone = false;
  const following = (async () => {
    while (!isDone) {
      file.write(line.repeat(20));
      await reader.follow(() => isAtEnd);
    }
  })();
  const found = await reader.earlierUntil(
    (rows) => search.hits(rows).hits.length > 0, new AbortController().signal, () => (isAtEnd = false));
  isDone = true;
  await following;

  assert.equal(found, true);
  assert.equal(texts(reader.window)[0], 'needle');
});

test('a search through earlier parts can be given up', async () => {
  const file = new File('x\n'.repeat(1 << 20));
  const reader = new LogReader(file.read);
  const giveUp = new AbortController();
  await reader.open();

  await reader.earlierUntil(() => (giveUp.abort(), false), giveUp.signal);
  assert.ok(reader.hasEarlier);
});

test('requests wait for each other', async () => {
  const file = new File('one\n');
  const reader = new LogReader(file.read);

  await Promise.all([reader.open(), reader.look(true), reader.earlier(), reader.look(true)]);
  assert.deepEqual(texts(reader.window), ['one']);
});

const rowsOf = (...lines) => inPieces(lines.join('\n'), 1000).rows;

test('words are found in any case, as they are and not as a pattern', () => {
  const rows = rowsOf('an error', 'ERROR (x) and Error', 'nothing');

  assert.deepEqual(new Search('error').hits(rows).hits, [{ at: 0, from: 3 }, { at: 9, from: 0 }, { at: 9, from: 14 }]);
  assert.deepEqual(new Search('(x)').hits(rows).hits, [{ at: 9, from: 6 }]);
  assert.deepEqual(new Search('.*').hits(rows).hits, []);
  assert.deepEqual(new Search('').hits(rows).hits, []);
});

test('of very many hits the latest are told', () => {
  const rows = rowsOf('a'.repeat(20_000));

  const { hits, hasMore } = new Search('a').hits(rows);
  assert.equal(hits.length, 10_000);
  assert.ok(hasMore);
  assert.ok(hits[0].at > 0);
});

test('the next hit goes round, and begins with what is in sight', () => {
  const hits = [{ at: 0, from: 1 }, { at: 10, from: 0 }, { at: 20, from: 5 }];

  assert.equal(nextHit(hits, null, 1, 5), hits[1]);
  assert.equal(nextHit(hits, null, 1, 99), hits[2], 'nothing further down: the nearest above');
  assert.equal(nextHit(hits, null, -1, 15), hits[1]);
  assert.equal(nextHit(hits, hits[2], 1, 0), hits[0]);
  assert.equal(nextHit(hits, hits[0], -1, 0), hits[2]);
  assert.equal(nextHit(hits, { at: 12, from: 0 }, 1, 0), hits[2], 'the current one is gone');
  assert.equal(nextHit([], null, 1, 0), null);
  assert.equal(indexOf(hits, { at: 20, from: 5 }), 2);
});

test('a text is told in parts, those found marked', () => {
  const parts = inParts('an error here', [[3, 8]]);

  assert.deepEqual(parts.map(({ text, found }) => [text, found]), [['an ', false], ['error', true], [' here', false]]);
  assert.deepEqual(inParts('', []), []);
});

test('levels are those of the entry that a row belongs to', () => {
  const rows = rowsOf(
    'cut off',
    '2026-11-16 15:23:20,509 INFO  riverrun.master [x] no ERROR_COUNT here',
    '2026-11-16 15:23:20,510 ERROR riverrun.master [x] failed',
    'Traceback (most recent call last):',
    '  File "a.py"',
    '26/11/16 15:23:21 WARN Utils: slow',
    '2026-11-16T15:23:22 WARNING again',
  );

  assert.deepEqual(rows.map((_, at) => levelAt(rows, at)), ['plain', 'plain', 'error', 'error', 'error', 'warn', 'warn']);
  assert.equal(levelOf('ERROR without a time'), null);
});

test('rows stand below each other, as high as their text needs', () => {
  const rows = rowsOf('12345', '', '1234567890x', '\tab');

  assert.deepEqual([...layOut(rows, 5).tops], [0, 1, 2, 5, 7]);
  assert.deepEqual([...layOut(rows, Infinity).tops], [0, 1, 2, 3, 4]);
  assert.equal(layOut(rows, Infinity).widest, 11);
});

test('only rows in sight are drawn, with some to spare', () => {
  const { tops } = layOut(rowsOf(...Array.from({ length: 1000 }, (_, n) => `row ${n}`)), Infinity);

  assert.deepEqual(inSight(tops, 500, 20, 10), { first: 490, last: 531 });
  assert.deepEqual(inSight(tops, 0, 20, 10), { first: 0, last: 31 });
  assert.deepEqual(inSight(tops, 990, 20, 10), { first: 980, last: 1000 });
  assert.deepEqual(inSight(new Uint32Array(1), 0, 20, 10), { first: 0, last: 0 });
  assert.equal(rowAt(tops, 5000), 999);
});

test('a row is found by a byte of the file', () => {
  const rows = rowsOf('ab', 'cd', 'ef');

  assert.deepEqual([0, 2, 3, 7, 99].map((at) => rowOfByte(rows, at)), [0, 0, 1, 2, 2]);
});

test('files are told in words, and in a useful order', () => {
  const job = 'a'.repeat(32);
  const other = 'b'.repeat(32);
  const file = (name, mtime) => ({ name, size: 1, mtime });
  const files = [file(`job-${job}.log`, 5), file(`job-${job}.out`, 9), file('jobmanager.log', 3), file('jobmanager.log.1', 2)];

  assert.deepEqual(inOrder(files).map(({ name }) => name), ['jobmanager.log', 'jobmanager.log.1', `job-${job}.out`, `job-${job}.log`]);
  assert.equal(mainFile(files), 'jobmanager.log');
  assert.equal(mainFile([]), undefined);
  assert.equal(describe(`job-${job}.out`, { [job]: 'shop' }), 'what the job shop printed');
  assert.equal(describe(`job-${other}.log.2`, {}), 'the JobManager about a job that is no longer known, earlier part 2');
  assert.equal(describe('taskmanager-driver.log', {}), 'log of the tasks');
  assert.equal(describe('something.log', {}), '');
});
