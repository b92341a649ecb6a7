/**
 * The bodies of a tracked email, ready for all its recipients: with placeholders where each recipient's
 * own URLs go. Without a text of its own, the email gets that of the HTML as it was written, so that
 * tracked links are in HTML only.
 */
import { createPlaceholders, type Placeholders, spliceHtml, textOfHtml } from '@postrider/mail'
import type { EmailContent } from '../record/email.ts'
import type { TrackedRecipient, TrackingUrls } from './tracking-urls.ts'

export interface MarkedEmail {
  readonly html?: string
  readonly text: string
  readonly placeholders: Placeholders
  /** What stands there in a recipient's copy. */
  ownOf(n: number): OwnUrls
}

export interface OwnUrls {
  /** By the numbers of the placeholders. */
  readonly texts: readonly string[]
  /** For the headers of RFC 8058. */
  readonly unsubscribeUrl?: string
}

/** In HTML and text, when `settings.unsubscribe` is on. */
const PLACEHOLDER = '%unsubscribe_url%'
/** Of one body; what is beyond stays as it was written. A body of nothing else would grow sixfold. */
const PLACEHOLDERS_MAX = 1_000

export function markEmail(
  urls: TrackingUrls,
  email: Pick<TrackedRecipient, 'tenantId' | 'refId'>,
  content: EmailContent,
): MarkedEmail | undefined {
  const { html, text, tracking } = content
  if (tracking === undefined) return undefined
  const { pixelAt, links = [], linkNumbers, unsubscribes } = tracking
  const before: ((who: TrackedRecipient) => string)[] = [
    ...(unsubscribes ? [urls.unsubscribeUrl] : []),
    ...(pixelAt === undefined ? [] : [urls.openUrl]),
  ]
  const linksFrom = before.length
  const linksCount = links.reduce((count, [, , link]) => Math.max(count, link + 1), 0)
  const first = { ...email, n: 0 }
  const clickChars = linksCount > 0 ? urls.clickUrl(first, 0).length : 0
  const placeholders = createPlaceholders(email.refId, [
    ...before.map((make) => make(first).length),
    ...Array.from({ length: linksCount }, () => clickChars),
  ])
  const at = (i: number) => placeholders[i] ?? ''
  const fill = (body: string) => (unsubscribes ? fillPlaceholders(body, at(0)) : body)
  const splice = (body: string) =>
    spliceHtml(
      body,
      { links, pixelAt: pixelAt ?? body.length },
      {
        ...(pixelAt === undefined ? {} : { pixel: at(linksFrom - 1) }),
        linkOf: (link) => at(linksFrom + link),
      },
    )
  return {
    ...(html === undefined ? {} : { html: fill(splice(html)) }),
    text: text === undefined ? textOfHtml(fill(html ?? '')) : fill(text),
    placeholders,
    ownOf(n) {
      const who = { ...email, n }
      const texts = before.map((make) => make(who))
      for (let link = 0; link < linksCount; link++)
        texts.push(urls.clickUrl(who, linkNumbers?.[link] ?? link))
      return unsubscribes ? { texts, unsubscribeUrl: texts[0] ?? '' } : { texts }
    },
  }
}

function fillPlaceholders(body: string, url: string): string {
  let filled = 0
  return body.replaceAll(PLACEHOLDER, (placeholder) => {
    filled += 1
    return filled > PLACEHOLDERS_MAX ? placeholder : url
  })
}
