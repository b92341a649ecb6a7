/** Parsers of mail, of addresses and of what mail servers say. */

import { checkDisplayName, parseAddress, toWireDomain } from '../../../mail/src/address.ts'
import { checkHeader } from '../../../mail/src/check-header.ts'
import { classifiedOf } from '../../../mail/src/classified.ts'
import { classifyFailure } from '../../../mail/src/classify-reply.ts'
import { encodeHeaderText, mailboxLine, textLine } from '../../../mail/src/header-lines.ts'
import { classifyImapFailure } from '../../../mail/src/imap/classify-failure.ts'
import { judgeBounce } from '../../../mail/src/judge-bounce.ts'
import { parseMessage } from '../../../mail/src/parse/parse-message.ts'
import { isReadInPlace } from '../../../mail/src/raw/raw-reader.ts'
import { readRaw } from '../../../mail/src/raw/read-raw.ts'
import { readCapabilities } from '../../../mail/src/smtp/capabilities.ts'
import { createLoginRedactor } from '../../../mail/src/smtp/redact-login.ts'
import { createReplyParser } from '../../../mail/src/smtp/reply-parser.ts'
import { checkName, problemOfSelector } from '../../src/domains/add/check-name.ts'
import { matchRecord } from '../../src/domains/check/match-record.ts'
import { checkUsername, readUsername } from '../../src/inbound/domains/usernames/username.ts'
import { digestMessage } from '../../src/inbound/ingest/digest.ts'
import { isLooping, traceHeader } from '../../src/inbound/smtp/trace-header.ts'
import { attachmentDisposition } from '../../src/platform/http/content-disposition.ts'
import { bytes, type Parser, utf8 } from './parser.ts'

const KIB = 1024
const MIB = 1024 * KIB
const REPLY_BYTES = 64 * KIB
const COMMAND_BYTES = 4 * KIB
const MESSAGES = [
  'mime message',
  'header block',
  'delivery report',
  'complaint',
  'informal bounce',
] as const
const RAW_OPTIONS = {
  controlPrefix: 'x-postrider-',
  textBytesMax: 10 * MIB,
  textCharsMax: 5 * MIB,
  date: new Date(0),
}
/** So that it comes as far as the listener lets it, with a sender. */
const wholeLines = (text: string): string =>
  `From: a@example.com\r\n${text.replaceAll(/\r\n?|\n/g, '\r\n').replaceAll('\0', ' ')}`
const fieldsOf = (text: string): Buffer => {
  const value = text.replaceAll(/[\r\n\0]/g, ' ')
  return bytes(`From: a@example.com\r\nTo: ${value}\r\nSubject: ${value}\r\n\r\n`)
}
/** What is longer is read in a thread. */
const readInPlace = (raw: Buffer): unknown =>
  isReadInPlace(raw) ? readRaw(raw, RAW_OPTIONS) : undefined
const ENVELOPE = { remoteIp: '127.0.0.1', helo: 'a', from: '', to: ['a@example.com'], isTls: false }
const redactor = createLoginRedactor(
  { username: 'user@example.com', password: 'correct horse' },
  { host: 'smtp.example.com', port: 25 },
)

export const mailParsers: readonly Parser[] = [
  {
    name: 'a received message',
    kinds: [...MESSAGES, 'authentication header'],
    bytesMax: 2 * MIB,
    thread: 'pool',
    run: (text) => parseMessage(bytes(text)),
  },
  {
    name: 'addresses of a received message',
    kinds: ['address list'],
    bytesMax: 256 * KIB,
    thread: 'pool',
    run: (text) => parseMessage(bytes(`From: ${text}\r\nTo: ${text}\r\nReply-To: ${text}\r\n\r\n`)),
  },
  {
    name: 'a submitted message, read in place',
    kinds: [...MESSAGES, 'authentication header'],
    bytesMax: 64 * KIB,
    thread: 'main',
    run: (text) => readInPlace(bytes(wholeLines(text))),
  },
  {
    name: 'a submitted message',
    kinds: [...MESSAGES, 'authentication header'],
    bytesMax: 2 * MIB,
    thread: 'pool',
    run: (text) => readRaw(bytes(wholeLines(text)), RAW_OPTIONS),
  },
  {
    name: 'the header fields of a submitted message, read in place',
    kinds: ['address list', 'mime message'],
    bytesMax: 64 * KIB,
    thread: 'main',
    run: (text) => readInPlace(fieldsOf(text)),
  },
  {
    name: 'short header fields of a submitted message',
    kinds: ['address list', 'mime message'],
    bytesMax: 3.9 * KIB,
    thread: 'main',
    run: (text) => readRaw(fieldsOf(text), RAW_OPTIONS),
  },
  {
    name: 'the header fields of a submitted message',
    kinds: ['address list', 'mime message'],
    bytesMax: 128 * KIB,
    thread: 'pool',
    run: (text) => readRaw(fieldsOf(text), RAW_OPTIONS),
  },
  {
    name: 'the digest of a received message',
    kinds: [...MESSAGES, 'authentication header'],
    bytesMax: 256 * KIB,
    thread: 'main',
    run: (text) => digestMessage(bytes(text)),
  },
  {
    name: 'whether a received message goes in circles',
    kinds: [...MESSAGES, 'authentication header'],
    bytesMax: MIB,
    thread: 'main',
    run: (text) => isLooping(bytes(text), { envelope: ENVELOPE, name: 'mx.example.com' }),
  },
  {
    name: 'the trace header of an envelope',
    kinds: ['smtp command', 'address list'],
    bytesMax: COMMAND_BYTES,
    thread: 'main',
    run: (text) =>
      traceHeader({
        envelope: { ...ENVELOPE, helo: utf8(text), from: utf8(text), to: [utf8(text)] },
        name: 'mx.example.com',
        id: 'a',
        protocol: 'ESMTP',
        atMicros: 0n,
      }),
  },
  {
    name: 'an address',
    kinds: ['address list', 'smtp command'],
    bytesMax: COMMAND_BYTES,
    thread: 'main',
    run: (text) => [
      parseAddress(utf8(text)),
      parseAddress(`a@${utf8(text)}.com`),
      parseAddress(`${utf8(text)}@example.com`),
    ],
  },
  {
    name: 'a domain',
    kinds: ['address list', 'smtp command', 'dns text'],
    bytesMax: COMMAND_BYTES,
    thread: 'main',
    run: (text) => [toWireDomain(utf8(text)), checkName(utf8(text)), problemOfSelector(utf8(text))],
  },
  {
    name: 'a username',
    kinds: ['address list', 'smtp command'],
    bytesMax: COMMAND_BYTES,
    thread: 'main',
    run: (text) => [checkUsername(utf8(text)), readUsername(utf8(text))],
  },
  {
    name: 'a name or a header of an email',
    kinds: ['address list', 'header block'],
    bytesMax: 64 * KIB,
    thread: 'main',
    run: (text) => [
      checkDisplayName(utf8(text)),
      checkHeader('X-A', utf8(text)),
      attachmentDisposition(utf8(text), 'a'),
    ],
  },
  {
    name: 'the lines of a header that is written',
    kinds: ['address list', 'header block'],
    bytesMax: KIB,
    thread: 'main',
    run: (text) => [
      encodeHeaderText(utf8(text)),
      textLine('Subject', utf8(text)),
      mailboxLine('From', [
        { address: 'a@example.com', name: utf8(text) },
        { address: utf8(text) },
      ]),
    ],
  },
  {
    name: 'a reply of a mail server, classified',
    kinds: ['smtp reply', 'informal bounce'],
    bytesMax: REPLY_BYTES,
    thread: 'main',
    run: (text) => [
      judgeBounce({ recipient: 'a@example.com', status: undefined, diagnostic: utf8(text) }),
      classifiedOf('invalid_recipient', utf8(text)),
      ...([undefined, 'auth', 'mail', 'rcpt', 'greeting'] as const).map((stage) =>
        classifyFailure({
          ...(stage === undefined ? {} : { stage }),
          reply: redactor.reply({ code: Number(text.slice(0, 3)) || 550, text: utf8(text) }),
        }),
      ),
    ],
  },
  {
    name: 'a refusal of an IMAP server, classified',
    kinds: ['smtp reply'],
    bytesMax: REPLY_BYTES,
    thread: 'main',
    run: (text) =>
      classifyImapFailure({ stage: 'auth', reply: { status: 'NO', text: `NO ${utf8(text)}` } }),
  },
  {
    name: 'replies of a mail server, read byte by byte',
    kinds: ['smtp reply'],
    bytesMax: REPLY_BYTES,
    thread: 'main',
    run(text) {
      const parser = createReplyParser()
      const read: unknown[] = []
      for (const byte of bytes(text)) {
        parser.push(Buffer.of(byte))
        read.push(parser.next())
      }
      return read.filter((one) => one !== undefined)
    },
  },
  {
    name: 'what an EHLO reply offers',
    kinds: ['smtp reply'],
    bytesMax: REPLY_BYTES,
    thread: 'main',
    run: (text) => readCapabilities(['250-a', ...utf8(text).split('\n')]),
  },
  {
    name: 'records of a sending domain',
    kinds: ['dns text'],
    bytesMax: 64 * KIB,
    thread: 'main',
    run: (text) =>
      (['dkim', 'spf', 'dmarc', 'ownership'] as const).map((purpose) =>
        matchRecord(
          { type: 'TXT', name: 'a.example.com', value: 'v=DKIM1; k=rsa; p=AAAA', purpose } as never,
          {
            type: 'TXT',
            answer: { kind: 'found', records: [utf8(text), utf8(text)], aliases: [] },
          },
        ),
      ),
  },
]
