/**
 * Renders an email once for each `template_data` of its recipients' own, when it is accepted: what is stored is
 * what all attempts send.
 *
 * One request may ask for a thousand renderings, so all of them have one limit of bytes and one of time, and each
 * is compressed before the next. They run one after another: a tenant has one thread at a time in any case.
 */
import { ownContentBytesMax, ownContentMsMax, ownLinksMax } from '@postrider/contract'
import type { LinkFinder, TemplateRenderer } from '@postrider/mail'
import { validationError } from '../../platform/errors.ts'
import { compress } from '../../platform/values/zstd.ts'
import { renderEmail } from '../accept/render-email.ts'
import type { EmailContent, NewEmail, NewRendering, OwnRecipient } from '../record/email.ts'
import { type PlannedEmail, planTracking } from '../tracking/plan-tracking.ts'
import { isFilled, layOver, type OwnGiven, renderingOf } from './own-data.ts'

/** What is left for one request. */
export interface OwnBudget {
  bytes: number
  ms: number
}

export function createOwnBudget(): OwnBudget {
  return { bytes: ownContentBytesMax, ms: ownContentMsMax }
}

interface OwnRequest {
  /** Not rendered: subject and content as they were given. */
  readonly email: NewEmail
  /** Of the email, where subject and content are templates. */
  readonly data: Readonly<Record<string, unknown>> | undefined
  readonly own: readonly OwnGiven[]
  readonly budget: OwnBudget
}

/**
 * `planned`: the email as all others get it. Throws 400 where a limit of the request is reached, 429 and 503 as the
 * threads do.
 */
export async function renderOwnData(
  deps: { readonly templates: TemplateRenderer; readonly links: Pick<LinkFinder, 'find'> },
  tenantId: string,
  { email, data, own, budget }: OwnRequest,
  planned: PlannedEmail,
): Promise<PlannedEmail> {
  const numbers = new Map<string, number>()
  const renderings: NewRendering[] = []
  const links = createLinkNumbers(planned.email.links ?? [])
  let { leftOut } = planned
  const numberOf = async ({ n, data: above }: OwnGiven): Promise<number | null> => {
    if (data === undefined || !isFilled(above)) return null
    const key = JSON.stringify(above)
    const known = numbers.get(key)
    if (known !== undefined) return known
    const startedMs = performance.now()
    const merged = layOver(data, above) ?? {}
    const rendered = await renderEmail(deps.templates, tenantId, email, merged)
    const one = await planTracking(deps.links, tenantId, rendered)
    budget.ms -= performance.now() - startedMs
    const { content, isCut } = links.number(one.email)
    leftOut ??= isCut ? 'clicks: too many links' : one.leftOut
    const rendering = renderingOf(content)
    const plain = Buffer.from(JSON.stringify(rendering))
    budget.bytes -= plain.length
    refuseTooMuch(budget, n)
    const stored = await compress(plain)
    renderings.push({ subject: rendering.subject, content: stored, octets: plain.length })
    numbers.set(key, renderings.length)
    return renderings.length
  }
  const recipients: OwnRecipient[] = []
  for (const given of own) {
    const { n, customArgs } = given
    recipients.push({ n, customArgs, rendering: await numberOf(given) })
  }
  const { urls } = links
  return {
    email: {
      ...planned.email,
      own: { recipients, renderings },
      ...(urls.length === 0 ? {} : { links: urls }),
    },
    ...(leftOut === undefined ? {} : { leftOut }),
  }
}

function refuseTooMuch({ bytes, ms }: OwnBudget, n: number): void {
  if (bytes >= 0 && ms >= 0) return
  const problem =
    bytes < 0
      ? `makes more than ${ownContentBytesMax} bytes of what templates render to for recipients with template_data`
      : `makes templates take longer than ${ownContentMsMax / 1000} s for recipients with template_data`
  const message = `${problem}, in one request: send it in parts`
  throw validationError({ path: `/to/${n}/template_data`, message })
}

/** Gives each URL one number within the email, which tokens have, whatever renderings it is in. */
function createLinkNumbers(first: readonly string[]) {
  const urls = [...first]
  const numbers = new Map(urls.map((url, i) => [url, i]))
  return {
    urls,
    number({ content, links = [] }: NewEmail): {
      readonly content: EmailContent
      readonly isCut: boolean
    } {
      const { tracking } = content
      if (tracking?.links === undefined) return { content, isCut: false }
      const added = links.filter((url) => !numbers.has(url))
      if (urls.length + added.length > ownLinksMax) {
        const { links: _, ...others } = tracking
        return { content: { ...content, tracking: others }, isCut: true }
      }
      for (const url of added) {
        numbers.set(url, urls.length)
        urls.push(url)
      }
      const linkNumbers = links.map((url) => numbers.get(url) ?? 0)
      return { content: { ...content, tracking: { ...tracking, linkNumbers } }, isCut: false }
    },
  }
}
