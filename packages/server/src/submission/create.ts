/** Makes the listener of the role `submission`: off unless one of its ports is set. */
import { join } from 'node:path'
import { recipientsMax } from '@postrider/contract'
import { createByteLimiter } from '@postrider/runtime/byte-limiter'
import type { Service } from '@postrider/runtime/service'
import { loadCertificate } from '../platform/certificates/server-certificate.ts'
import type { Clock } from '../platform/clock.ts'
import type { AuthenticateKey } from '../platform/http/bounds/admission.ts'
import { createFailureBudget } from '../platform/limits/failure-budget.ts'
import type { Logger } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { DiskGuard } from '../platform/process/disk-guard.ts'
import { createReceiveThrottle } from '../platform/smtp-server/receive-throttle.ts'
import {
  type Address,
  createSmtpListener,
  type ListenerPort,
} from '../platform/smtp-server/smtp-listener.ts'
import type { AcceptSubmitted } from '../sending/index.ts'
import { type AcceptMailDeps, acceptMessage, acceptRecipient, acceptSender } from './accept-mail.ts'
import { messageBytesMax, type SubmissionLimits, submissionLimits } from './limits.ts'
import { createLogins } from './log-in.ts'
import { createSubmissionObserver } from './observe-submission.ts'
import { publicAddressOf } from './public-address.ts'

export interface SubmissionDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly disk: DiskGuard
  /** By which this service greets. */
  readonly ehloName: string
  readonly authenticateKey: AuthenticateKey
  readonly submit: AcceptSubmitted
  /** Its threads, which `submit` reads messages in. */
  readonly rawReader: Service
  /** The host of a certificate that it makes for itself. */
  readonly certificateHost: string
  /** Whether this process has the role. */
  readonly isListening: boolean
  readonly limits?: Partial<SubmissionLimits>
  readonly config: {
    readonly host: string
    readonly dataDir: string
    readonly inboundHost: string
    readonly inboundTlsCert: string | undefined
    readonly inboundTlsKey: string | undefined
    readonly submissionPort: number | undefined
    readonly submissionTlsPort: number | undefined
    readonly submissionPublicPort: number | undefined
    readonly submissionPublicTlsPort: number | undefined
  }
}

/** As the API allows: a key that is right is never counted. */
const WRONG_KEYS = {
  name: 'wrong-keys',
  failuresMax: 60,
  windowS: 60,
  message: 'Too many wrong keys',
}

/** Throws when the configured certificate cannot be used. */
export function createSubmission(deps: SubmissionDeps) {
  const ports = portsOf(deps.config)
  const listener = deps.isListening && ports.length > 0 ? createListener(deps, ports) : undefined
  const services: readonly Service[] = listener === undefined ? [] : [deps.rawReader, listener]
  return {
    services,
    /** What `/readyz` tells of the listener. */
    readiness: listener,
    /** Where it listens: first with STARTTLS, then with TLS from the beginning, as far as each is set. */
    addresses: (): readonly Address[] =>
      listener?.isListening() === true ? listener.addresses() : [],
    /** What programs are told. The listener may be one of another process. */
    publicAddress: () =>
      publicAddressOf({
        ...{ host: deps.config.inboundHost, ports },
        published: {
          starttls: deps.config.submissionPublicPort,
          tls: deps.config.submissionPublicTlsPort,
        },
        listened: listener?.isListening() === true ? listener.addresses() : [],
      }),
  }
}

function portsOf({ submissionPort, submissionTlsPort }: SubmissionDeps['config']): ListenerPort[] {
  return [
    ...(submissionPort === undefined ? [] : [{ port: submissionPort, isTls: false }]),
    ...(submissionTlsPort === undefined ? [] : [{ port: submissionTlsPort, isTls: true }]),
  ]
}

function createListener(deps: SubmissionDeps, ports: readonly ListenerPort[]) {
  const { clock, config, log } = deps
  const limits = { ...submissionLimits, ...deps.limits }
  const monotonicMs = () => performance.now()
  const observe = createSubmissionObserver(deps.metrics)
  // A tenant has half of it at most, and less where others have much.
  const budget = createByteLimiter({
    bytesMax: limits.bytesInTransitMax,
    bytesOfCallerMax: limits.bytesInTransitMax / 2,
    letsLargeInAlone: false,
    leavesAsMuch: true,
  })
  const wrongKeys = createFailureBudget(WRONG_KEYS)
  const logins = createLogins({ ...deps, limits, observe, wrongKeys })
  const mail: AcceptMailDeps = {
    ...{ ...deps, limits, budget, logins, monotonicMs, observe },
    bytesMax: messageBytesMax,
    turns: createReceiveThrottle(),
  }
  const { inboundTlsCert: cert, inboundTlsKey: key } = config
  const files = cert === undefined || key === undefined ? undefined : { cert, key }
  return createSmtpListener({
    name: 'submission',
    limitedLine: 'submission_connection.limited',
    host: config.host,
    ports,
    hostName: deps.ehloName,
    bytesMax: messageBytesMax,
    recipientsMax,
    certificate: loadCertificate({
      files,
      ownFile: join(config.dataDir, 'inbound-tls.pem'),
      host: deps.certificateHost,
      nowMs: clock.now().getTime(),
      log,
    }),
    certificateFiles: files,
    limits,
    budget,
    refusedText: '4.7.0 Too many refused messages on this connection, open another',
    offersChunking: true,
    logIn: logins.logIn,
    acceptSender: (connection, sender) => acceptSender(mail, connection, sender),
    acceptRecipient: (_connection, given) => acceptRecipient(given),
    acceptMessage: (connection, stream) => acceptMessage(mail, connection, stream),
    closed: logins.closed,
    monotonicMs,
    observe,
    log,
  })
}
