/**
 * Rewriting alone, in a process of its own: what finding the places of tracking costs against the
 * tokenizer that does it, and what a copy costs. Reaches into the server, since neither has an outside.
 */

import { composeMessage, prepareMessage } from '@postrider/mail'
import { Tokenizer } from 'htmlparser2'
import { createPlaceholders } from '../packages/mail/src/placeholders.ts'
import { findLinkOffsets } from '../packages/mail/src/rewrite/find-link-offsets.ts'
import { spliceHtml } from '../packages/mail/src/rewrite/splice-html.ts'
import { createKeyRing } from '../packages/server/src/platform/secrets/index.ts'
import { createTrackingTokens } from '../packages/server/src/tracking/tokens.ts'
import { createTrackingUrls } from '../packages/server/src/tracking/tracking-urls.ts'
import { newsletterOf } from './newsletter.ts'
import { serveParent } from './worker.ts'

export interface RewriteTimes {
  readonly links: number
  /** In microseconds, each for one mail. */
  readonly tokenizer: number
  readonly find: number
  readonly splice: number
  readonly prepare: number
  readonly prepareTracked: number
  /** For one recipient. */
  readonly tokens: number
  readonly compose: number
  readonly composeTracked: number
}

const STRETCHES = 12
const STRETCH_MS = 30
const who = {
  tenantId: 'tn_01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  refId: '01JD4M8W6ZQ3V5T7X9Y2A4C6E9',
  n: 0,
}
const message = {
  id: who.refId,
  date: new Date(0),
  from: { address: 'news@example.com' },
  to: [{ address: 'ada@example.com' }],
  subject: 'News of the week',
  text: 'News of the week',
}

/**
 * Microseconds for one of each: the quickest of several stretches, taken in turns, for others use the
 * machine as well.
 */
async function timeAll<Name extends string>(
  works: Readonly<Record<Name, () => unknown>>,
): Promise<Record<Name, number>> {
  const quickest = new Map<string, number>()
  for (let stretch = 0; stretch < STRETCHES; stretch += 1)
    for (const [name, work] of Object.entries<() => unknown>(works)) {
      const tookMs = await timeStretch(work)
      quickest.set(name, Math.min(tookMs * 1_000, quickest.get(name) ?? tookMs * 1_000))
    }
  // Of the names that were given, no others.
  return Object.fromEntries(quickest) as Record<Name, number>
}

async function timeStretch(work: () => unknown): Promise<number> {
  let count = 0
  let elapsedMs = 0
  const startedAt = performance.now()
  while (elapsedMs < STRETCH_MS) {
    await work()
    count += 1
    elapsedMs = performance.now() - startedAt
  }
  return elapsedMs / count
}

const ignore = () => undefined
const silent = {
  onattribdata: ignore,
  onattribend: ignore,
  onattribentity: ignore,
  onattribname: ignore,
  oncdata: ignore,
  onclosetag: ignore,
  oncomment: ignore,
  ondeclaration: ignore,
  onend: ignore,
  onopentagend: ignore,
  onopentagname: ignore,
  onprocessinginstruction: ignore,
  onselfclosingtag: ignore,
  ontext: ignore,
  ontextentity: ignore,
}

async function measure(characters: number): Promise<RewriteTimes> {
  const html = newsletterOf(characters)
  const places = findLinkOffsets(html)
  const keyRing = createKeyRing(`k:${Buffer.alloc(32, 7).toString('base64')}`)
  const urls = createTrackingUrls({
    tokens: createTrackingTokens(keyRing),
    publicUrl: 'https://mail.example.com',
  })
  const textsOf = (n: number) => [
    urls.openUrl({ ...who, n }),
    ...places.urls.map((_, link) => urls.clickUrl({ ...who, n }, link)),
  ]
  const texts = textsOf(0)
  const placeholders = createPlaceholders(
    who.refId,
    texts.map((text) => text.length),
  )
  const splice = (all: readonly string[]) =>
    spliceHtml(html, places, { pixel: all[0] ?? '', linkOf: (link) => all[link + 1] ?? '' })
  const plain = await prepareMessage({ ...message, html })
  const prepareTracked = () =>
    prepareMessage({ ...message, html: splice(placeholders), placeholders })
  const tracked = await prepareTracked()
  const times = await timeAll({
    tokenizer() {
      const tokenizer = new Tokenizer({ decodeEntities: true }, silent)
      tokenizer.write(html)
      tokenizer.end()
    },
    find: () => findLinkOffsets(html),
    // What was put together is a rope until it is read.
    splice: () => Buffer.byteLength(splice(texts)),
    prepare: () => prepareMessage({ ...message, html }),
    prepareTracked,
    tokens: () => textsOf(1),
    compose: () => composeMessage(plain, '<1@example.com>'),
    composeTracked: () => composeMessage(tracked, '<1@example.com>', { texts }),
  })
  return { links: places.links.length, ...times }
}

serveParent({ measure })
