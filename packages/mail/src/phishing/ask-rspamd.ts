/**
 * The second opinion of an Rspamd of the operator's (`POST /checkv2` of its protocol).
 *
 * It never stops mail by being away: a request that fails, or that takes longer than its deadline,
 * is logged and counted, and the mail is judged without it. After several failures in a row it is
 * not asked for a while, so that mail does not wait out the deadline again and again. Where no file
 * descriptor is free it was not asked, and that counts for nothing.
 */
import type { Logger } from '@postrider/runtime/logger'
import { composeMessage, prepareMessage } from '../build-message.ts'
import type { ScannedContent } from './content.ts'
import { rspamdSymbols } from './rspamd-symbols.ts'
import type { Sign } from './signs.ts'

export interface Rspamd {
  /** Its sign, if it found something; never rejects. */
  ask(content: ScannedContent): Promise<Sign | undefined>
}

/** `skipped`: too long. `paused`: not asked for a while, after failures. `busy`: no file descriptor was free. */
export const rspamdOutcomes = ['found', 'nothing', 'failed', 'skipped', 'paused', 'busy'] as const
export type RspamdOutcome = (typeof rspamdOutcomes)[number]

/** An HTTP request, and how much time and memory it may take. */
export interface RspamdRequest {
  readonly poolKey: string
  readonly url: URL
  readonly method: 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly timeoutMs: number
  /** A longer answer fails. */
  readonly bodyBytesMax: number
  readonly bodyKeptBytesMax: number
}

export interface RspamdDeps {
  /** To the operator's own service: not guarded as those to hosts that tenants chose. */
  readonly request: (
    o: RspamdRequest,
  ) => Promise<{ readonly status: number; readonly body: string }>
  /** Whether an error of `request` means that nothing was tried, as this process had no free file descriptor. */
  readonly isBusy: (error: unknown) => boolean
  readonly url: string
  readonly log: Logger
  readonly observe: (outcome: RspamdOutcome) => void
  readonly monotonicMs: () => number
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 3_000
const ANSWER_BYTES_MAX = 1024 * 1024
const CHARS_MAX = 1024 * 1024
const FAILURES_MAX = 5
const PAUSE_MS = 30_000
const WEIGHT_MAX = 100

export function createRspamd(deps: RspamdDeps): Rspamd {
  const { isBusy, log, monotonicMs, observe, request, timeoutMs = TIMEOUT_MS } = deps
  const url = new URL(`${deps.url.replace(/\/+$/, '')}/checkv2`)
  let failures = 0
  let pausedUntilMs = 0

  async function findSymbols(content: ScannedContent): Promise<string[]> {
    const { status, body } = await request({
      poolKey: 'rspamd',
      url,
      method: 'POST',
      headers: { from: content.from.address },
      body: await messageOf(content),
      timeoutMs,
      bodyBytesMax: ANSWER_BYTES_MAX,
      bodyKeptBytesMax: ANSWER_BYTES_MAX,
    })
    if (status !== 200) throw new Error(`Rspamd answered with status ${status}`)
    return readSymbols(body)
  }

  function noteFailure(error: unknown): void {
    failures += 1
    const isPaused = failures >= FAILURES_MAX
    if (isPaused) pausedUntilMs = monotonicMs() + PAUSE_MS
    log.warn({ err: error, is_paused: isPaused || undefined }, 'rspamd.failed')
  }

  return {
    async ask(content) {
      if (charsOf(content) > CHARS_MAX) {
        observe('skipped')
        return undefined
      }
      if (monotonicMs() < pausedUntilMs) {
        observe('paused')
        return undefined
      }
      try {
        const symbols = await findSymbols(content)
        failures = 0
        observe(symbols.length > 0 ? 'found' : 'nothing')
        return symbols.length > 0 ? toSign(symbols) : undefined
      } catch (error) {
        if (isBusy(error)) {
          observe('busy')
          return undefined
        }
        noteFailure(error)
        observe('failed')
        return undefined
      }
    },
  }
}

function charsOf({ text = '', html }: ScannedContent): number {
  return text.length + (html[0]?.length ?? 0)
}

/** What it is asked about is the content: nobody is named to whom it goes. */
async function messageOf({ from, subject, text, html: [html] }: ScannedContent): Promise<Buffer> {
  const id = 'phishing-check'
  const date = new Date()
  const prepared = await prepareMessage({ id, date, from, to: [from], subject, text, html })
  return composeMessage(prepared, `<${id}@postrider.invalid>`)
}

/** Those that count here, the heaviest first. Throws on what is not an answer of Rspamd. */
function readSymbols(body: string): string[] {
  const answer: unknown = JSON.parse(body)
  const symbols = isObject(answer) ? answer.symbols : undefined
  if (!isObject(symbols)) throw new Error('Rspamd answered something else than symbols')
  return Object.keys(rspamdSymbols)
    .filter((name) => Object.hasOwn(symbols, name))
    .sort((a, b) => weightOf(b) - weightOf(a))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function weightOf(symbol: string): number {
  return rspamdSymbols[symbol] ?? 0
}

function toSign(symbols: readonly string[]): Sign {
  const weight = symbols.reduce((sum, symbol) => sum + weightOf(symbol), 0)
  return {
    kind: 'rspamd',
    weight: Math.min(weight, WEIGHT_MAX),
    reason: `Rspamd found ${symbols.slice(0, 3).join(' and ')}`,
  }
}
