/**
 * What must be true of a parser's result, whatever it was given. Each answers what is wrong, if anything;
 * an error that it throws is wrong, too.
 */
import type { BombKind } from '@postrider/testkit'
import { parseAddress } from '../../../mail/src/address.ts'
import { composeMessage, prepareMessage } from '../../../mail/src/build-message.ts'
import { checkHeader } from '../../../mail/src/check-header.ts'
import { classifyFailure } from '../../../mail/src/classify-reply.ts'
import { encodeHeaderText } from '../../../mail/src/header-lines.ts'
import { cleanBody, cleanText } from '../../../mail/src/parse/clean-text.ts'
import { decodeHeaderText } from '../../../mail/src/parse/header-values.ts'
import { parseMessage } from '../../../mail/src/parse/parse-message.ts'
import { createReplyParser } from '../../../mail/src/smtp/reply-parser.ts'
import { textOfHtml } from '../../../mail/src/text-of-html.ts'
import { parseJson } from '../../src/platform/http/body/json-body.ts'
import { bytes, refusing, utf8 } from './parser.ts'

export interface Property {
  readonly name: string
  readonly kinds: readonly BombKind[]
  /** @param text bytes, as latin1; answers what is wrong */
  check(text: string): string | undefined | Promise<string | undefined>
}

const TEXTS: readonly BombKind[] = ['address list', 'header block', 'html', 'smtp reply']
const NOW = new Date('2026-11-20T12:00:00Z')
const BARE = /\r(?!\n)|(?<!\r)\n|\0/

const wrongUnless = (isRight: boolean, problem: string) => (isRight ? undefined : problem)

export const properties: readonly Property[] = [
  {
    name: 'a message that is built has whole line ends, short lines and no NUL',
    kinds: TEXTS,
    async check(text) {
      const given = utf8(text).replaceAll('\0', '')
      const line = given.replaceAll(/\p{Cc}/gu, ' ')
      const isHeader = checkHeader('X-A', line.slice(0, 998)) === undefined
      const prepared = await prepareMessage({
        id: 'a',
        date: NOW,
        from: { address: 'a@example.com', name: line.slice(0, 200) },
        to: [{ address: 'b@example.com', name: given.slice(0, 200) }],
        subject: given.slice(0, 998),
        text: given,
        html: given,
        headers: isHeader ? [['X-A', line.slice(0, 998)]] : [],
        attachments: [{ filename: given.slice(0, 255) || 'a', content: 'QUJD' }],
      })
      const built = (await composeMessage(prepared, '<1@example.com>')).toString('latin1')
      const bare = BARE.exec(built)
      if (bare !== null) return `${JSON.stringify(bare[0])} stands at ${bare.index}`
      const long = built.split('\r\n').find((one) => one.length > 998)
      return long === undefined ? undefined : `a line has ${long.length} characters`
    },
  },
  {
    name: 'text of a header is the same when it is decoded again',
    kinds: TEXTS,
    check(text) {
      const given = utf8(text)
        .replaceAll(/[\p{Cc}\p{Z}]+/gu, ' ')
        .trim()
        .slice(0, 300)
      const encoded = encodeHeaderText(given)
      const decoded = decodeHeaderText(encoded.replaceAll('\r\n', ''))
      return wrongUnless(
        decoded === given.toWellFormed(),
        `${JSON.stringify(given)} is read as ${JSON.stringify(decoded)}`,
      )
    },
  },
  {
    name: 'what is clean stays as it is when it is cleaned again',
    kinds: TEXTS,
    check(text) {
      const [once, body] = [cleanText(utf8(text)), cleanBody(utf8(text))]
      if (cleanText(once) !== once) return 'text is cleaned twice'
      return wrongUnless(!once.includes('\0') && !body.includes('\0'), 'NUL is left')
    },
  },
  {
    name: 'an address that is taken is the same when it is read again',
    kinds: ['address list'],
    check(text) {
      for (const part of utf8(text)
        .slice(0, 4_000)
        .split(/[\s,;<>]/)) {
        const first = parseAddress(part)
        if (!first.ok) continue
        const again = parseAddress(first.address.address)
        if (!again.ok || again.address.address !== first.address.address)
          return `${JSON.stringify(part)} changes`
        if (/[\p{Cc}\p{Z}<>]/u.test(first.address.address))
          return `${JSON.stringify(part)} is taken`
      }
      return undefined
    },
  },
  {
    name: 'what is made of a received message is bounded by its length',
    kinds: ['mime message', 'header block', 'delivery report', 'complaint', 'informal bounce'],
    check(text) {
      const made = parseMessage(bytes(text))
      const contents = made.attachments.reduce((sum, { content }) => sum + content.byteLength, 0)
      const reports = made.reports.map((one) => ({ ...one, reportedAtMicros: undefined }))
      const others = JSON.stringify({ ...made, reports, attachments: [] }).length
      // A control character takes six in JSON, and text is there as it came and as a report has it.
      const max = 20 * text.length + 65_536
      return wrongUnless(contents + others <= max, `${contents + others} of ${text.length} bytes`)
    },
  },
  {
    name: 'what a server says is stored bounded and without NUL',
    kinds: ['smtp reply', 'informal bounce'],
    check(text) {
      const { providerError, failedReason } = classifyFailure({
        reply: { code: 550, text: utf8(text) },
      })
      const isFit = providerError.length <= 4_096 && !providerError.includes('\0')
      return wrongUnless(isFit && failedReason.length <= 4_096, 'it is not fit to be stored')
    },
  },
  {
    name: 'replies are the same in one piece and in many',
    kinds: ['smtp reply'],
    check(text) {
      const read = (size: number) => {
        const parser = createReplyParser()
        const replies: unknown[] = []
        for (let at = 0; at < text.length; at += size) {
          parser.push(bytes(text.slice(at, at + size)))
          for (
            let next = parser.next();
            next !== undefined && replies.length < 100;
            next = parser.next()
          )
            replies.push(next)
        }
        return JSON.stringify(replies.slice(0, 1))
      }
      return wrongUnless(read(text.length + 1) === read(777), 'a cut changes them')
    },
  },
  {
    name: 'the text of HTML is bounded by its length',
    kinds: ['html'],
    check(text) {
      const made = textOfHtml(utf8(text))
      return wrongUnless(
        made.length <= 25 * text.length + 1_000,
        `${made.length} of ${text.length}`,
      )
    },
  },
  {
    name: 'a JSON body that is taken is what JSON says',
    kinds: ['json body', 'sparkpost callback'],
    check(text) {
      let isTaken = false
      const value = refusing(() => {
        const read = parseJson(bytes(text))
        isTaken = true
        return read
      })
      if (!isTaken) return undefined
      return wrongUnless(
        JSON.stringify(value) === JSON.stringify(JSON.parse(utf8(text))),
        'it differs',
      )
    },
  },
]
