/** Where programs are told to hand in their mail: getSession has it for the dashboard. */
import type { SubmissionAddress } from '@postrider/contract'
import type { Address, ListenerPort } from '../platform/smtp-server/smtp-listener.ts'

/** null: no port is set, or it is known to the process alone that listens on it. */
export function publicAddressOf(o: {
  readonly host: string
  readonly ports: readonly ListenerPort[]
  /** In the order of `ports`; empty where this process does not listen. */
  readonly listened: readonly Address[]
  /** By what stands before the listener. */
  readonly published: { readonly starttls: number | undefined; readonly tls: number | undefined }
}): SubmissionAddress | null {
  const portOf = (isTls: boolean) => {
    const at = o.ports.findIndex((one) => one.isTls === isTls)
    const port = o.listened[at]?.port ?? o.ports[at]?.port
    // A port 0 is a free one.
    return port === undefined || port === 0 ? null : port
  }
  const starttls_port = o.published.starttls ?? portOf(false)
  const tls_port = o.published.tls ?? portOf(true)
  if (starttls_port === null && tls_port === null) return null
  return { host: o.host, starttls_port, tls_port }
}
