import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createRspamd, type RspamdOutcome } from '../../../../mail/src/phishing/ask-rspamd.ts'
import type { ScannedContent } from '../../../../mail/src/phishing/content.ts'
import { createPhishingScanner } from '../../../../mail/src/phishing/scanner.ts'
import { withSecondOpinion } from '../../../../mail/src/phishing/second-opinion.ts'
import { createEgress, EgressError } from '../../platform/egress/index.ts'
import { createLogger } from '../../platform/log.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Asked {
  readonly path: string
  readonly from: string | undefined
  readonly message: string
}
type Answer = (response: ServerResponse, n: number) => void

const symbols =
  (...names: string[]): Answer =>
  (response) => {
    const found = Object.fromEntries(names.map((name) => [name, { name, score: 1 }]))
    response.end(JSON.stringify({ action: 'no action', symbols: found }))
  }

const isBusy = (error: unknown) => error instanceof EgressError && error.code === 'busy'

async function world(answer: Answer, timeoutMs = 20_000) {
  const asked: Asked[] = []
  const server: Server = createServer(async (request: IncomingMessage, response) => {
    const message = Buffer.concat(await request.toArray()).toString()
    asked.push({ path: request.url ?? '', from: request.headers.from, message })
    answer(response, asked.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const egress = createEgress({ allowNetworks: ['0.0.0.0/0', '::/0'] })
  const scanner = createPhishingScanner()
  cleanups.push(
    async () => server.closeAllConnections(),
    async () => server.close(),
    () => egress.close(),
    () => scanner.stop(),
  )
  const outcomes: RspamdOutcome[] = []
  const clock = { ms: 0 }
  const { port } = server.address() as AddressInfo
  const rspamd = createRspamd({
    request: egress.request,
    isBusy,
    url: `http://127.0.0.1:${port}/`,
    log: createLogger({ level: 'silent' }),
    observe: (outcome) => outcomes.push(outcome),
    monotonicMs: () => clock.ms,
    timeoutMs,
  })
  const both = withSecondOpinion(scanner, rspamd)
  const signsOf = async (change: Partial<ScannedContent> = {}) => {
    const from = { address: 'news@acme.example', name: 'Acme' }
    const result = await both.scan('tn_a', { from, subject: 'Hi', html: ['<p>Hi</p>'], ...change })
    return result.kind === 'scanned' ? result.scan.signs : result.kind
  }
  return { asked, outcomes, clock, signsOf }
}

describe('the findings of Rspamd', () => {
  it('count beside our own, the heaviest first', async () => {
    const { signsOf, asked, outcomes } = await world(
      symbols('PHISHING', 'MISSING_TO', 'DBL_PHISH', 'constructor'),
    )
    expect(await signsOf({ html: ['<a href="http://203.0.113.7/">x</a>'] })).toEqual([
      { kind: 'rspamd', weight: 85, reason: 'Rspamd found DBL_PHISH and PHISHING' },
      expect.objectContaining({ kind: 'numeric_host' }),
    ])
    expect(outcomes).toEqual(['found'])
    const [request] = asked
    expect(request).toMatchObject({ path: '/checkv2', from: 'news@acme.example' })
    expect(request?.message).toMatch(/^From: Acme <news@acme\.example>\r\n/)
    expect(request?.message).toContain('http://203.0.113.7/')
  })

  it('are ignored when they are not about links', async () => {
    const { signsOf, outcomes } = await world(symbols('BAYES_SPAM', 'MIME_HTML_ONLY'))
    expect(await signsOf()).toEqual([])
    expect(outcomes).toEqual(['nothing'])
  })

  it('weigh 100 at most', async () => {
    const { signsOf } = await world(symbols('DBL_PHISH', 'PHISHED_OPENPHISH', 'DBL_MALWARE'))
    expect(await signsOf()).toMatchObject([{ weight: 100 }])
  })
})

describe('an Rspamd that fails', () => {
  it.each<[string, Answer]>([
    ['an error', (response) => response.writeHead(500).end('{"error":"x"}')],
    ['no JSON', (response) => response.end('<html>')],
    ['other JSON', (response) => response.end('[]')],
    ['symbols that are none', (response) => response.end('{"symbols":null}')],
    ['a closed connection', (response) => response.destroy()],
    [
      'half an answer',
      (response) => response.writeHead(200, { 'content-length': '99' }).write('{"sym'),
    ],
    ['far too much', (response) => response.end(' '.repeat(3_000_000))],
  ])('stops no mail: %s', async (_, answer) => {
    const { signsOf, outcomes } = await world(answer, 1_000)
    expect(await signsOf()).toEqual([])
    expect(outcomes).toEqual(['failed'])
  })

  it('stops no mail when it is silent until the deadline', async () => {
    const { signsOf, outcomes } = await world(() => undefined, 50)
    expect(await signsOf({ html: ['<input type=password>'] })).toMatchObject([
      { kind: 'password_field' },
    ])
    expect(outcomes).toEqual(['failed'])
  })

  it('is left alone for 30 s after five failures in a row, and then asked again', async () => {
    const { signsOf, outcomes, asked, clock } = await world((response, n) =>
      n <= 5 ? response.writeHead(503).end() : symbols('DBL_PHISH')(response, n),
    )
    for (let n = 0; n < 5; n += 1) await signsOf()
    clock.ms = 29_999
    expect(await signsOf()).toEqual([])
    expect(asked).toHaveLength(5)
    clock.ms = 30_000
    expect(await signsOf()).toMatchObject([{ kind: 'rspamd' }])
    expect(outcomes.slice(4)).toEqual(['failed', 'paused', 'found'])
  })
})

it('does not pass content of over a million characters to Rspamd', async () => {
  const { signsOf, outcomes, asked } = await world(symbols('DBL_PHISH'))
  expect(await signsOf({ html: ['x'.repeat(1024 * 1024 + 1)] })).toEqual([])
  expect(outcomes).toEqual(['skipped'])
  expect(asked).toEqual([])
})

describe('without a free file descriptor', () => {
  it('does not ask Rspamd, and asks again at once afterwards', async () => {
    const outcomes: RspamdOutcome[] = []
    let hasNoDescriptor = true
    const rspamd = createRspamd({
      request: async () => {
        if (hasNoDescriptor) throw new EgressError('busy', 'no free file descriptors')
        return { status: 200, body: '{"symbols":{}}' }
      },
      isBusy,
      url: 'http://127.0.0.1:1/',
      log: createLogger({ level: 'silent' }),
      observe: (outcome) => outcomes.push(outcome),
      monotonicMs: () => 0,
    })
    const from = { address: 'news@acme.example', name: 'Acme' }
    const ask = () => rspamd.ask({ from, subject: 'Hi', html: ['<p>Hi</p>'] })
    for (let i = 0; i < 10; i++) expect(await ask()).toBeUndefined()
    hasNoDescriptor = false
    await ask()
    expect(outcomes).toEqual([...Array.from({ length: 10 }, () => 'busy'), 'nothing'])
  })
})
