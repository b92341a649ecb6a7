/** Bodies of sendEmail as large as they may be, of what costs a reader most. */
import type { Input } from './door.ts'

const BYTES = 39 * 1024 * 1024

const fill = (unit: string): string => unit.repeat(Math.floor(BYTES / unit.length))
const email = (attachment: string): string =>
  `{"from":{"email":"news@sender.test"},"to":[{"email":"ada@recipient.test"}],"subject":"s","content":[{"type":"text/plain","value":"a"}],"attachments":[{"filename":"a","content":"${attachment}"}]}`

/** Made one at a time: each is 39 MiB. */
export const largeBodies: readonly (Omit<Input, 'text'> & { readonly make: () => string })[] = [
  { kind: 'large body', name: 'base64', make: () => email(fill('QUJD')) },
  { kind: 'large body', name: 'a line end for each letter', make: () => email(fill('Q\\n')) },
  { kind: 'large body', name: 'escaped letters', make: () => email(fill('\\u0041')) },
  { kind: 'large body', name: 'escaped quotes', make: () => `["${fill('\\"')}"]` },
  { kind: 'large body', name: 'blanks', make: () => `[${fill(' ')}]` },
  { kind: 'large body', name: 'one number', make: () => fill('1') },
  { kind: 'large body', name: 'two-byte letters', make: () => email(fill('\xc3\xa9')) },
  {
    kind: 'large body',
    name: 'text in the place of a name',
    make: () =>
      email('')
        .replace('"a@', `"${fill('a')}@`)
        .replace('news', fill('a')),
  },
  {
    kind: 'large body',
    name: 'long names',
    make: () =>
      `{${Array.from({ length: 50_000 }, (_, i) => `"${i}${'x'.repeat(760)}":1`).join(',')}}`,
  },
]
