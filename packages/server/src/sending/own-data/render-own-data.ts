/**
 * Renders an email once for each `template_data` of its recipients' own, when it is accepted: what is stored is
 * what all attempts send.
 *
 * One request may ask for a thousand renderings, so all of them have one limit of bytes and one of processor time,
 * and those of one turn are compressed before the next. What a request waits while other tenants' templates have
 * their turns is no fault of its own: with too much of that it is told to come again.
 */
import { setImmediate } from 'node:timers/promises'
import { ownContentBytesMax, ownContentMsMax, ownLinksMax } from '@postrider/contract'
import type { LinkFinder, RenderedTemplate, TemplateRenderer } from '@postrider/mail'
import { ApiError, validationError } from '../../platform/errors.ts'
import { compress } from '../../platform/values/zstd.ts'
import { templateOf, withRendered } from '../accept/render-email.ts'
import type { EmailContent, NewEmail, NewRendering, OwnRecipient } from '../record/email.ts'
import { type PlannedEmail, planTracking } from '../tracking/plan-tracking.ts'
import { isFilled, type OwnGiven, renderingOf } from './own-data.ts'

/** What is left for one request. */
export interface OwnBudget {
  bytes: number
  /** Of the processor. */
  cpuMs: number
  /** As `performance.now()` has it: nobody waits longer for an answer. */
  readonly endsAtMs: number
}

const WAIT_MS_MAX = 60_000
const RETRY_AFTER_S = 10

export function createOwnBudget(): OwnBudget {
  const endsAtMs = performance.now() + WAIT_MS_MAX
  return { bytes: ownContentBytesMax, cpuMs: ownContentMsMax, endsAtMs }
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
  deps: {
    readonly templates: Pick<TemplateRenderer, 'renderEach'>
    readonly links: Pick<LinkFinder, 'find'>
  },
  tenantId: string,
  { email, data, own, budget }: OwnRequest,
  planned: PlannedEmail,
): Promise<PlannedEmail> {
  const { different, placeOf } = await differentOf(data === undefined ? [] : own)
  const renderings: NewRendering[] = []
  const links = createLinkNumbers(planned.email.links ?? [])
  let { leftOut } = planned
  const refuse = () => refuseTooMuch(budget, different[renderings.length]?.n ?? 0)
  const keep = async (rendered: RenderedTemplate) => {
    const content = withRendered(email.content, rendered)
    const one = await planTracking(deps.links, tenantId, { ...email, content })
    const numbered = links.number(one.email)
    leftOut ??= numbered.isCut ? 'clicks: too many links' : one.leftOut
    const rendering = renderingOf(numbered.content)
    const plain = Buffer.from(JSON.stringify(rendering))
    budget.bytes -= plain.length
    refuse()
    const stored = await compress(plain)
    renderings.push({ subject: rendering.subject, content: stored, octets: plain.length })
  }
  const template = { ...templateOf(email.content), data: data ?? {} }
  for (const each of handfulsOf(different))
    for await (const turn of deps.templates.renderEach(tenantId, template, each)) {
      budget.cpuMs -= turn.cpuMs
      refuse()
      for (const rendered of turn.rendered) await keep(rendered)
    }
  const recipients = own.map(
    (given): OwnRecipient => ({
      ...{ n: given.n, customArgs: given.customArgs },
      rendering: placeOf.get(given) ?? null,
    }),
  )
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

/** So much is written, or copied to a thread, in one turn of the event loop. */
const CHARS_IN_TURN = 256 * 1024

interface Different {
  /** The first recipient that has the data. */
  readonly n: number
  readonly data: OwnGiven['data']
  /** Of its JSON. */
  readonly chars: number
}

/** Recipients with the same data share a rendering. `placeOf`: the number of a recipient's, from 1. */
async function differentOf(own: readonly OwnGiven[]) {
  const different: Different[] = []
  const places = new Map<string, number>()
  const placeOf = new Map<OwnGiven, number>()
  let chars = 0
  for (const given of own) {
    const { n, data } = given
    if (!isFilled(data)) continue
    const key = JSON.stringify(data)
    const place = places.get(key) ?? different.push({ n, data, chars: key.length })
    places.set(key, place)
    placeOf.set(given, place)
    chars += key.length
    if (chars < CHARS_IN_TURN) continue
    chars = 0
    await setImmediate()
  }
  return { different, placeOf }
}

/** As many as may be copied at once; one in any case. */
function* handfulsOf(different: readonly Different[]): Generator<OwnGiven['data'][]> {
  let [handful, chars]: [OwnGiven['data'][], number] = [[], 0]
  for (const one of different) {
    if (handful.length > 0 && chars + one.chars > CHARS_IN_TURN) {
      yield handful
      ;[handful, chars] = [[], 0]
    }
    handful.push(one.data)
    chars += one.chars
  }
  if (handful.length > 0) yield handful
}

/** `n`: the recipient that is at work. */
function refuseTooMuch({ bytes, cpuMs, endsAtMs }: OwnBudget, n: number): void {
  if (bytes >= 0 && cpuMs >= 0) {
    if (performance.now() < endsAtMs) return
    throw new ApiError('unavailable', {
      message: 'Templates of others take all the time there is',
      retryAfterS: RETRY_AFTER_S,
      bound: 'templates',
    })
  }
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
