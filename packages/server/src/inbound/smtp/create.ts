/** Makes the SMTP listener of the role `inbound`; nothing listens before its service starts. */
import { join } from 'node:path'
import type { DnsResolver } from '@postrider/runtime/dns'
import { loadCertificate } from '../../platform/certificates/server-certificate.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { DiskGuard } from '../../platform/process/disk-guard.ts'
import type { ReturnPathTokens } from '../../sending/index.ts'
import { createRouteFinder } from '../domains/find-routes.ts'
import { createDomainProver } from '../domains/ownership/prove-domain.ts'
import type { Ingest } from '../ingest/ingest.ts'
import { listenWhenFree } from './listen-when-free.ts'
import { createInboundListener, type InboundListener } from './listener.ts'
import { createListenerObserver } from './observe-listener.ts'

export interface ListenerDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly dns: DnsResolver
  readonly disk: DiskGuard
  /** By which this service greets. */
  readonly ehloName: string
  readonly config: {
    readonly host: string
    readonly dataDir: string
    readonly inboundBytesMax: number
    readonly inboundHost: string
    readonly inboundPort: number
    readonly inboundRecipientsMax: number
    readonly inboundTlsCert: string | undefined
    readonly inboundTlsKey: string | undefined
    /** The default port may be taken by another program; one that was set may not. */
    readonly isInboundPortSet: boolean
  }
  /** The host of a certificate that it makes for itself. */
  readonly certificateHost: string
}

/** Throws when the configured certificate cannot be used. */
export function createListener(
  deps: ListenerDeps,
  o: { readonly ingest: Ingest; readonly returnPaths: ReturnPathTokens },
): InboundListener {
  const { clock, config, db, disk, log } = deps
  const monotonicMs = () => performance.now()
  const prover = createDomainProver({ ...deps, inboundHost: config.inboundHost, monotonicMs })
  const { inboundTlsCert: cert, inboundTlsKey: key } = config
  const files = cert === undefined || key === undefined ? undefined : { cert, key }
  const listener = createInboundListener({
    host: config.host,
    port: config.inboundPort,
    name: deps.ehloName,
    bytesMax: config.inboundBytesMax,
    recipientsMax: config.inboundRecipientsMax,
    certificate: loadCertificate({
      files,
      ownFile: join(config.dataDir, 'inbound-tls.pem'),
      host: deps.certificateHost,
      nowMs: clock.now().getTime(),
      log,
    }),
    certificateFiles: files,
    findRoute: createRouteFinder({ db, prover, returnPaths: o.returnPaths }).find,
    store: o.ingest.store,
    disk,
    nowMicros: clock.nowMicros,
    monotonicMs,
    observe: createListenerObserver(deps.metrics),
    log,
  })
  if (config.isInboundPortSet) return listener
  return listenWhenFree(listener, { port: config.inboundPort, log })
}
