/**
 * A sending domain, tested: whether the provider's server is reached and the domain is verified. Providers have
 * no request that only tries a key, so the key is tried by the test mail.
 */
import type { TestStep } from '@postrider/contract'
import { classifyFailure, failureOfConnect } from '@postrider/mail'
import type { Queryable } from '../../platform/db/index.ts'
import { type Egress, EgressError, notReachable, portOf } from '../../platform/egress/index.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { loadAccount, type RelayAccount, type Relays } from '../../relays/index.ts'
import type { DomainMailer } from '../mailer.ts'
import { printable } from '../smtp/login-failure.ts'
import { TEST_SUBJECT, TEST_TEXT, testMessageId } from './test-mail.ts'

export interface TryRelayDeps {
  readonly db: Queryable
  readonly keyRing: KeyRing
  readonly egress: Pick<Egress, 'connect' | 'tlsForRequests'>
  readonly sendByRelay: Relays['send']
}

const CONNECT_TIMEOUT_MS = 10_000
const SEND_TIMEOUT_MS = 30_000

export async function tryRelay(
  deps: TryRelayDeps,
  mailer: DomainMailer,
  to: string | undefined,
): Promise<TestStep[]> {
  const { relay, domain } = mailer.config
  const steps: TestStep[] = []
  let beganMs = performance.now()
  const add = (step: TestStep['step'], ok: boolean, reply: string) => {
    const nowMs = performance.now()
    steps.push({ step, ok, duration_ms: Math.round(nowMs - beganMs), reply: printable(reply) })
    beganMs = nowMs
    return ok
  }
  const account = await loadAccount(deps.db, deps.keyRing, {
    tenantId: mailer.tenantId,
    kind: relay,
  })
  // The simulator is within the process.
  if (account === undefined) add('connect', false, `There is no relay account ${relay}`)
  else if (relay === 'simulator' || (await reach(deps, account, add))) {
    const isVerified = add('domain', mailer.isVerified, sentenceOf(domain, mailer.isVerified))
    if (isVerified && to !== undefined) add('message', ...(await send(deps, account, domain, to)))
  }
  return steps
}

function sentenceOf(domain: string, isVerified: boolean): string {
  return isVerified
    ? `${domain} is verified`
    : `${domain} is not verified: POST /v1/domain/${domain}/verify`
}

async function reach(
  { egress }: Pick<TryRelayDeps, 'egress'>,
  { apiBase }: RelayAccount,
  add: (step: TestStep['step'], ok: boolean, reply: string) => boolean,
): Promise<boolean> {
  const url = new URL(apiBase)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isTls = url.protocol === 'https:'
  let next: TestStep['step'] = 'dns'
  try {
    const socket = await egress.connect({
      host,
      port: portOf(url),
      ...(isTls ? { tls: egress.tlsForRequests() } : {}),
      timeoutMs: CONNECT_TIMEOUT_MS,
      onProgress(progress) {
        if (progress.step === 'dns') add('dns', true, `${host}: ${progress.addresses.join(', ')}`)
        else add('connect', true, `${progress.address} port ${portOf(url)}`)
        next = progress.step === 'dns' ? 'connect' : 'tls'
      },
    })
    socket.destroy()
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    const isRefused = error.code === 'address_refused'
    const { failedReason } = classifyFailure(failureOfConnect(error))
    return add(next, false, isRefused ? `The host ${notReachable}` : failedReason)
  }
  return !isTls || add('tls', true, `the certificate is one of ${host}`)
}

async function send(
  { sendByRelay }: TryRelayDeps,
  account: RelayAccount,
  domain: string,
  to: string,
): Promise<[ok: boolean, reply: string]> {
  const from = `postmaster@${domain}`
  const { id, messageId } = testMessageId(from)
  const sent = await sendByRelay(
    account,
    {
      ...{ refId: id, n: 0, type: 'to', subject: TEST_SUBJECT, text: TEST_TEXT, attachments: [] },
      from: { address: from },
      to: { address: to },
      shown: { to: [{ address: to }], cc: [] },
      headers: [
        ['Message-ID', messageId],
        ['Auto-Submitted', 'auto-generated'],
      ],
    },
    { deadlineAt: performance.now() + SEND_TIMEOUT_MS },
  )
  if (sent.kind === 'stopped') return [false, 'The service is stopping']
  if (sent.kind === 'answered' && sent.outcome.kind === 'accepted') {
    const { providerMessageId } = sent.outcome
    return [true, `Accepted by the provider${providerMessageId && ` as ${providerMessageId}`}`]
  }
  const failure = sent.kind === 'answered' ? failureIn(sent.outcome) : sent.failure
  return [false, failure.providerError || failure.failedReason]
}

function failureIn(
  outcome: Extract<Awaited<ReturnType<Relays['send']>>, { kind: 'answered' }>['outcome'],
) {
  if (outcome.kind !== 'failed') throw new Error('only a failure is asked for')
  return outcome.failure
}
