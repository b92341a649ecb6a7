/**
 * Hostile input that once blocked the service, by name. The generators make more of each kind. Text is a
 * string of bytes (latin1).
 */

export interface KnownBomb {
  readonly name: string
  readonly text: string
}

const BLANKS = ' '.repeat(7_800)
const HASH = 'bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
const signature = (tag = ''): string =>
  `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=sender.test; s=s1; h=from; ${tag}${HASH}; b=x`
const chainSet = (i: number): string =>
  [
    `ARC-Seal: i=${i}; a=rsa-sha256; cv=${i === 1 ? 'none' : 'pass'}; d=list.test; s=x; b=x`,
    `ARC-Message-Signature: i=${i}; a=rsa-sha256; d=list.test; s=x; h=from; ${HASH}; b=x`,
    `ARC-Authentication-Results: i=${i}; list.test; dkim=pass`,
  ].join('\r\n')
const times = (count: number, of: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => of(i + 1)).join('\r\n')

/** Header fields without the last line end: what authenticates mail took up to 0.8 s for one. */
export const signatureBombs: readonly KnownBomb[] = toBombs([
  ['30 seals with blanks within', times(30, (i) => `ARC-Seal: i=${i}; q=${BLANKS}; b=x`)],
  ['30 seals with blanks in a value', times(30, (i) => `ARC-Seal: i=${i}; q=a${BLANKS}a; b=x`)],
  ['nine seals with blanks in a value', times(9, (i) => `ARC-Seal: i=${i}; q=a${BLANKS}a; b=x`)],
  ['30 sets of a chain', times(30, chainSet)],
  ['groups within groups', `${signature()}\r\nFrom: ${'a:'.repeat(120_000)}`],
  ['groups within groups, fewer', `${signature()}\r\nFrom: ${'a:'.repeat(8_000)}`],
  ['mailboxes without end', `${signature()}\r\nFrom: ${'a@b,'.repeat(4_000)}`],
  ['ten signatures padded with blanks', times(10, () => signature(`q=${BLANKS}; `))],
  ['ten signatures with blanks in a value', times(10, () => signature(`q=a${BLANKS}a; `))],
  [
    'ten signatures with blanks among the signed fields',
    times(10, () => signature().replace('h=from', `h=from:a${BLANKS}b`)),
  ],
  [
    'ten signatures full of rows of blanks',
    times(10, () => signature(`q=${`${' '.repeat(190)}x`.repeat(40)}; `)),
  ],
  ['a first line that is no field', `X${' '.repeat(100_000)}y: a\r\n${signature()}`],
  ['a name padded with blanks', `${signature()}\r\nX${' '.repeat(100_000)}\r : a`],
  [
    'a signed value with blanks within',
    `${signature().replace('h=from', 'h=from:x')}\r\nX: a${' '.repeat(200_000)}y`,
  ],
  ['a value of bare line ends', `${signature()}\r\nX: ${'\r'.repeat(200_000)}x`],
  ['a value of bare line ends and blanks', `${signature()}\r\nX: ${'\r \t'.repeat(60_000)}x`],
  ['a Return-Path of groups', `Return-Path: ${'a:'.repeat(120_000)}\r\n${signature()}`],
  [
    'a type with parameters without end',
    `${signature()}\r\nContent-Type: ${'a;b=c'.repeat(40_000)}`,
  ],
  [
    'names of signed fields without end',
    `${times(10, () => signature().replace('h=from', `h=from:${'a:'.repeat(3_800)}`))}\r\n${times(1_900, () => 'a: b')}`,
  ],
  ['tags without end', times(10, () => `DKIM-Signature: ${'a=b;'.repeat(2_000)}`)],
  ['a thousand authors', times(1_200, () => 'From: a@b.test')],
])

function toBombs(rows: readonly (readonly [name: string, text: string])[]): readonly KnownBomb[] {
  return rows.map(([name, text]) => ({ name, text }))
}

/** A first line that is no field: to match its name took the square of its length. */
export const firstLineBombs: readonly KnownBomb[] = [
  { name: 'a first line of blanks within a name', text: `X${' '.repeat(100_000)}y: a` },
  { name: 'a first line of tabs within a name', text: `X${'\t'.repeat(100_000)}y: a` },
  { name: 'a first line of blanks without a colon', text: `X${' '.repeat(100_000)}y` },
]

/** Whole answers of an IMAP server: the parser behind the guard took 2 to 80 s for some. */
export const imapBombs: readonly (KnownBomb & {
  /** Of the guard's bounds, the one that it breaks. */
  readonly bound: string
})[] = [
  { name: 'brackets in brackets', bound: 'imap_line', text: `* OK ${'['.repeat(500_000)}\r\n` },
  { name: 'many capabilities', bound: 'imap_line', text: `* CAPABILITY ${'A '.repeat(200_000)}\r\n` },
  { name: 'all messages vanished', bound: 'imap_unasked', text: '* VANISHED (EARLIER) 1:4294967295\r\n' },
  { name: 'all messages found', bound: 'imap_search', text: '* ESEARCH (TAG "1") UID ALL 1:4294967295\r\n' },
  { name: 'many short numbers', bound: 'imap_search', text: `* SEARCH${' 7'.repeat(240_000)}\r\n` },
  { name: 'many flags', bound: 'imap_line', text: `* 1 FETCH (${'FLAGS () '.repeat(40_000)}\r\n` },
  { name: 'parts within parts', bound: 'imap_line', text: `* 1 FETCH (UID 1 BODYSTRUCTURE ${'('.repeat(300_000)}\r\n` },
  { name: 'a literal of 4 MB', bound: 'imap_line', text: '* 1 FETCH (UID 1 X {4000000}\r\nx\r\n' },
] // biome-ignore format: a table
