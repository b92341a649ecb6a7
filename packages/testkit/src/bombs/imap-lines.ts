/**
 * Hostile answers of an IMAP server, made from a seeded source of random numbers: the same numbers make
 * the same bytes. Every kind of response that RFC 3501, 4731, 5161 and 7162 name is there, filled with
 * what parsers fail on: runs of one unit, nesting, escapes, ranges, absurd numbers and literals.
 */

/** From 0 up to and without 1. */
export type RandomSource = () => number

export interface ImapLine {
  /** The kind of response, such as `FETCH`. */
  readonly kind: string
  /** Says what it is filled with. */
  readonly name: string
  /** As on the wire: latin1, literals included, with its line end. */
  readonly text: string
}

interface Frame {
  readonly kind: string
  readonly before: string
  readonly after: string
}

const frame = (kind: string, before: string, after = ''): Frame => ({ kind, before, after })

const FRAMES: readonly Frame[] = [
  ...['OK', 'NO', 'BAD', 'BYE', 'PREAUTH'].flatMap((status) => [
    frame(status, `* ${status} `),
    frame(status, `* ${status} [`, '] text'),
    frame(status, `* ${status} [PERMANENTFLAGS (`, ')] text'),
  ]),
  frame('response code', '* OK [CAPABILITY IMAP4rev1 ', '] ready'),
  frame('response code', '* OK [COPYUID 1 ', '] copied'),
  frame('response code', '* OK [UIDNEXT ', '] next'),
  frame('response code', '* OK [HIGHESTMODSEQ ', '] modseq'),
  frame('CAPABILITY', '* CAPABILITY IMAP4rev1 '),
  frame('ENABLED', '* ENABLED '),
  frame('FLAGS', '* FLAGS (', ')'),
  frame('LIST', '* LIST (', ') "/" INBOX'),
  frame('LIST', '* LIST (\\HasNoChildren) "/" '),
  frame('LIST', '* LIST () "/" "', '"'),
  frame('LSUB', '* LSUB () ', ' INBOX'),
  frame('XLIST', '* XLIST (', ') "/" INBOX'),
  frame('STATUS', '* STATUS INBOX (', ')'),
  frame('STATUS', '* STATUS ', ' (MESSAGES 1)'),
  frame('SEARCH', '* SEARCH '),
  frame('SEARCH', '* SEARCH 1 ', ' (MODSEQ 1)'),
  frame('ESEARCH', '* ESEARCH (TAG "1") UID ALL '),
  frame('ESEARCH', '* ESEARCH (', ') UID COUNT 1'),
  frame('EXISTS', '* ', ' EXISTS'),
  frame('RECENT', '* ', ' RECENT'),
  frame('EXPUNGE', '* ', ' EXPUNGE'),
  frame('VANISHED', '* VANISHED '),
  frame('VANISHED', '* VANISHED (EARLIER) '),
  frame('FETCH', '* 1 FETCH (UID 1 ', ')'),
  frame('FETCH', '* 1 FETCH (FLAGS (', ') UID 1)'),
  frame('FETCH', '* 1 FETCH (UID ', ')'),
  frame('FETCH', '* 1 FETCH (UID 1 MODSEQ (', '))'),
  frame('FETCH', '* 1 FETCH (UID 1 INTERNALDATE "', '")'),
  frame('FETCH', '* 1 FETCH (UID 1 RFC822.SIZE ', ')'),
  frame('FETCH', '* 1 FETCH (UID 1 ENVELOPE (', '))'),
  frame('FETCH', '* 1 FETCH (UID 1 BODYSTRUCTURE (', '))'),
  frame('FETCH', '* 1 FETCH (UID 1 BODY[', '] NIL)'),
  frame('FETCH', '* 1 FETCH (UID 1 BODY[HEADER.FIELDS (MESSAGE-ID)] ', ')'),
  frame('FETCH', '* 1 FETCH (UID 1 X-GM-LABELS (', '))'),
  frame('NAMESPACE', '* NAMESPACE (', ') NIL NIL'),
  frame('ID', '* ID (', ')'),
  frame('QUOTA', '* QUOTA "" (', ')'),
  frame('QUOTAROOT', '* QUOTAROOT INBOX '),
  frame('an unknown response', '* '),
  frame('an unknown response', '* X-BOMB '),
  frame('continuation', '+ '),
  frame('a tagged response', 'A1 OK ', ' done'),
  frame('no response', ''),
]

const UNITS: readonly string[] = [
  ...[
    'a',
    'A ',
    '1',
    '1 ',
    '0',
    '9',
    ' ',
    '\t',
    '\0',
    '\xff',
    '\xc3\xa9',
    '.',
    '*',
    '%',
    '&',
    '&-',
  ],
  ...['&AOk-', '"', '""', '"a" ', '\\', '\\\\', '\\"', '"\\"" ', '\\Seen ', '\\*', '$x ', 'NIL '],
  ...[
    '(',
    ')',
    '()',
    '() ',
    '(a) ',
    '[',
    ']',
    '[]',
    '[] ',
    'a[b] ',
    'BODY[] NIL ',
    '<',
    '<0>',
    '{',
  ],
  ...[
    '}',
    '{1}',
    '{0}',
    '~{1}',
    '1:2',
    '1:2,',
    '1,',
    '1:*,',
    '2,',
    '1:4294967295',
    '1:9999999999,',
  ],
  ...[
    ':',
    ',',
    '4294967295 ',
    '99999999999999999999 ',
    '("a" NIL) ',
    '(NIL NIL "a" "b")',
    '=',
    '==,',
  ],
  ...[
    '=?utf-8?q?a?= ',
    'UID 1 ',
    'FLAGS () ',
    'AUTH=X ',
    'X=1 ',
    '-1 ',
    '1e9 ',
    'Infinity ',
    '+',
    '\r',
  ],
]

const PAIRS: readonly (readonly [open: string, close: string])[] = [
  ['(', ')'],
  ['[', ']'],
  ['a[', ']'],
  ['("a" ', ')'],
  ['(("text" "plain" NIL) ', ' "mixed")'],
  ['([', '])'],
]

/** One answer of about so many bytes, of any kind. */
export function makeImapLine(random: RandomSource, bytes: number): ImapLine {
  const { kind, before, after } = pick(random, FRAMES)
  const { name, body } = pick(random, FILLINGS)(random, bytes)
  return { kind, name: `${kind}: ${name}`, text: `${before}${body}${after}\r\n` }
}

/** Each kind of response with so many fillings, in the order of the kinds. */
export function makeImapLines(
  random: RandomSource,
  { bytes, each }: { readonly bytes: number; readonly each: number },
): readonly ImapLine[] {
  return FRAMES.flatMap(({ kind, before, after }) =>
    Array.from({ length: each }, () => {
      const { name, body } = pick(random, FILLINGS)(random, bytes)
      return { kind, name: `${kind}: ${name}`, text: `${before}${body}${after}\r\n` }
    }),
  )
}

type Filling = (
  random: RandomSource,
  bytes: number,
) => { readonly name: string; readonly body: string }

const FILLINGS: readonly Filling[] = [
  (random, bytes) => {
    const unit = pick(random, UNITS)
    return { name: `a run of ${JSON.stringify(unit)}`, body: repeat(unit, bytes) }
  },
  (random, bytes) => {
    const phrase = Array.from({ length: 2 + below(random, 4) }, () => pick(random, UNITS)).join('')
    return { name: `the phrase ${JSON.stringify(phrase)}`, body: repeat(phrase, bytes) }
  },
  (random, bytes) => {
    const [unit, last] = [pick(random, UNITS), pick(random, UNITS)]
    const name = `a run of ${JSON.stringify(unit)} that ends with ${JSON.stringify(last)}`
    return { name, body: repeat(unit, bytes) + last }
  },
  (random, bytes) => {
    const [open, close] = pick(random, PAIRS)
    const depth = Math.ceil(bytes / (open.length + close.length))
    return {
      name: `${JSON.stringify(open)} nested ${depth} deep`,
      body: open.repeat(depth) + close.repeat(depth),
    }
  },
  (random, bytes) => {
    const [open, close] = pick(random, PAIRS)
    const depth = 2 + below(random, 60)
    const one = `${open.repeat(depth)}${close.repeat(depth)} `
    return {
      name: `${JSON.stringify(open)} nested ${depth} deep, again and again`,
      body: repeat(one, bytes),
    }
  },
  (random, bytes) => {
    const [open] = pick(random, PAIRS)
    return { name: `${JSON.stringify(open)} that nothing closes`, body: repeat(open, bytes) }
  },
  (random, bytes) => {
    const length = pick(random, [0, 1, 7, 100, 1_000])
    const prefix = pick(random, ['', '~', 'BODY[] ', '"a" '])
    const one = `${prefix}{${length}}\r\n${'x'.repeat(length)} `
    return { name: `literals of ${length} bytes`, body: repeat(one, bytes) }
  },
  (random, bytes) => {
    const numbers: string[] = []
    for (let size = 0; size < bytes; ) {
      const number = String(1 + below(random, 4_294_967_295))
      numbers.push(number)
      size += number.length + 1
    }
    return { name: 'numbers', body: numbers.join(' ') }
  },
  (random, bytes) => {
    const parts: string[] = []
    for (let size = 0; size < bytes; ) {
      const part = repeat(pick(random, UNITS), below(random, 20) === 0 ? 100 : 1)
      parts.push(part)
      size += part.length
    }
    return { name: 'noise', body: parts.join('') }
  },
]

function below(random: RandomSource, limit: number): number {
  return Math.floor(random() * limit)
}

function pick<T>(random: RandomSource, choices: readonly T[]): T {
  const choice = choices[below(random, choices.length)]
  if (choice === undefined) throw new Error('nothing to pick from')
  return choice
}

function repeat(unit: string, bytes: number): string {
  return unit.repeat(Math.ceil(bytes / unit.length))
}
