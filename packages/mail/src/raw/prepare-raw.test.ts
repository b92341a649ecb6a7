/** Parts that change are encoded anew, and everything else stays. */
import { describe, expect, it } from 'vitest'
import { composeMessage } from '../build-message.ts'
import { createPlaceholders } from '../placeholders.ts'
import { prepareRaw, rewriteRaw } from './prepare-raw.ts'
import { fileOfRaw } from './raw-attachments.ts'
import { type RawMessage, readRaw } from './read-raw.ts'

const OPTIONS = {
  controlPrefix: 'x-p-',
  textBytesMax: 1_000_000,
  textCharsMax: 1_000_000,
  date: new Date(0),
}
const ID = 'one'
const message = (...lines: readonly string[]) => `${lines.join('\r\n')}\r\n`

function read(text: string): RawMessage {
  const reading = readRaw(Buffer.from(text, 'latin1'), OPTIONS)
  if (reading.kind === 'refused') throw new Error(reading.problem)
  return reading.message
}

const PLACEHOLDERS = createPlaceholders(ID, [60])
const URL = `https://track.example/${'x'.repeat(38)}`

async function send(raw: RawMessage, html: string, messageId = '<own@a.example>'): Promise<string> {
  const { htmlPlace: place } = raw
  if (place === undefined) throw new Error('no HTML')
  const prepared = await prepareRaw({
    raw: raw.message,
    hasMessageId: raw.messageId !== undefined,
    changed: [{ type: 'text/html', place, text: html }],
    id: ID,
    placeholders: PLACEHOLDERS,
  })
  return (await composeMessage(prepared, messageId, { texts: [URL] })).toString('latin1')
}

const HEAD = ['From: a@example.com', 'Date: x', 'Message-ID: <1@a.example>']

describe('a message of HTML alone', () => {
  it.each(['quoted-printable', 'base64', '8bit'])('is encoded anew, from %s', async (encoding) => {
    const body = Buffer.from('<p>Gr\xfc\xdfe</p>', 'latin1')
    const encoded =
      encoding === 'base64'
        ? body.toString('base64')
        : encoding === '8bit'
          ? body.toString('latin1')
          : '<p>Gr=FC=DFe</p>'
    const raw = read(
      message(
        ...HEAD,
        'Content-Type: text/html;',
        ' charset=iso-8859-1',
        `Content-Transfer-Encoding: ${encoding}`,
        'X-Last: stays',
        '',
        encoded,
      ),
    )
    const sent = read(await send(raw, `${raw.html?.trim()}<a href="${PLACEHOLDERS[0]}">x</a>`))
    expect(sent.html?.trim()).toBe(`<p>Grüße</p><a href="${URL}">x</a>`)
    expect(sent.message.toString().match(/^content-type:.*$/gim)).toEqual([
      'Content-Type: text/html; charset=utf-8',
    ])
    expect(sent.message.toString()).toContain('X-Last: stays\r\n')
    expect(sent.message.toString().endsWith('\r\n')).toBe(true)
  })

  it('keeps a Content-Type that says UTF-8, and its Message-ID', async () => {
    const type = 'Content-Type: text/html; charset="UTF-8"; format=flowed'
    const sent = await send(read(message(...HEAD, type, '', '<p>x</p>')), '<p>y</p>')
    expect(sent).toBe(message(...HEAD, type, 'Content-Transfer-Encoding: 7bit', '', '<p>y</p>'))
  })
})

it('adds a Message-ID in front where there is none', async () => {
  const raw = read(message('From: a@example.com', 'Date: x', 'Content-Type: text/html', '', 'x'))
  expect(await send(raw, 'x')).toMatch(/^Message-ID: <own@a\.example>\r\nFrom: /)
})

it('changes parts of a multipart in their places', async () => {
  const text = message(
    ...HEAD,
    'Subject: {{ a }}',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    'preamble',
    '--b',
    '',
    'plain',
    '--b',
    'Content-Type: text/html; charset=utf-8',
    '',
    'html',
    '--b',
    'Content-Type: application/pdf; name=a.pdf',
    'Content-Transfer-Encoding: base64',
    '',
    'YW',
    'Jj',
    '--b--',
    'epilogue',
  )
  const raw = read(text)
  const { textPlace, htmlPlace } = raw
  if (textPlace === undefined || htmlPlace === undefined) throw new Error('no parts')
  const rewritten = await rewriteRaw(
    raw.message,
    [
      { type: 'text/html', place: htmlPlace, text: 'HTML ü' },
      { type: 'text/plain', place: textPlace, text: 'TEXT' },
    ],
    'Für A',
  )
  const again = read(rewritten.toString('latin1'))
  expect([again.subject, again.text, again.html]).toEqual(['Für A', 'TEXT', 'HTML ü'])
  const after = text.slice(text.indexOf('\r\n--b\r\nContent-Type: application/pdf'))
  expect(rewritten.toString().endsWith(after)).toBe(true)
  expect(rewritten.toString()).toContain('\r\npreamble\r\n--b\r\n')
  const [file, ...others] = again.attachments
  if (file === undefined) throw new Error('no file')
  expect([file, others]).toMatchObject([
    { filename: 'a.pdf', type: 'application/pdf', disposition: 'attachment', size: 3 },
    [],
  ])
  expect(await fileOfRaw(rewritten, file.place)).toBe(Buffer.from('abc').toString('base64'))
})
