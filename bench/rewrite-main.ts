/**
 * Rewriting alone, in a process of its own: what finding the places of tracking costs against the
 * tokenizer that does it, and what a copy costs. Reaches into the server, since neither has an outside.
 */
import { Tokenizer } from 'htmlparser2'
import { composeMessage, prepareMessage } from '../packages/server/src/mail/index.ts'
import { findPlaces } from '../packages/server/src/mail/rewrite/find-places.ts'
import { spliceHtml } from '../packages/server/src/mail/rewrite/splice-html.ts'
import { createStandIns } from '../packages/server/src/mail/stand-ins.ts'
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

const STRETCHES = 8
const STRETCH_MS = 60
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

/** Microseconds for one: the quickest of several stretches, for others use the machine as well. */
async function time(work: () => unknown): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY
  for (let stretch = 0; stretch < STRETCHES; stretch += 1) {
    let count = 0
    let elapsedMs = 0
    const startedAt = performance.now()
    while (elapsedMs < STRETCH_MS) {
      await work()
      count += 1
      elapsedMs = performance.now() - startedAt
    }
    quickest = Math.min(quickest, elapsedMs / count)
  }
  return quickest * 1_000
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
  const places = findPlaces(html)
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
  const standIns = createStandIns(
    who.refId,
    texts.map((text) => text.length),
  )
  const splice = (all: readonly string[]) =>
    spliceHtml(html, places, { pixel: all[0] ?? '', linkOf: (link) => all[link + 1] ?? '' })
  const plain = await prepareMessage({ ...message, html })
  const prepareTracked = () => prepareMessage({ ...message, html: splice(standIns), standIns })
  const tracked = await prepareTracked()
  return {
    links: places.links.length,
    tokenizer: await time(() => {
      const tokenizer = new Tokenizer({ decodeEntities: true }, silent)
      tokenizer.write(html)
      tokenizer.end()
    }),
    find: await time(() => findPlaces(html)),
    // What was put together is a rope until it is read.
    splice: await time(() => Buffer.byteLength(splice(texts))),
    prepare: await time(() => prepareMessage({ ...message, html })),
    prepareTracked: await time(prepareTracked),
    tokens: await time(() => textsOf(1)),
    compose: await time(() => composeMessage(plain, '<1@example.com>')),
    composeTracked: await time(() => composeMessage(tracked, '<1@example.com>', { texts })),
  }
}

serveParent({ measure })
