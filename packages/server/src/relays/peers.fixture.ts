/**
 * The providers on loopback, as strict as their documents, behind one shape: what the conformance suite
 * asks of any of them. Another provider has an entry here, and the whole suite.
 */
import {
  createSendGridServer,
  createSparkPostServer,
  createWebhookReceiver,
  type PeerRequest,
  type PeerScript,
  type RelayedMail,
} from '@postrider/testkit'
import type { CallbackRequest, CallbackSecrets, RelayAccount, RelayProvider } from './relay.ts'

export interface Peer {
  readonly account: RelayAccount
  /** With which its callbacks are authentic. */
  readonly secrets: CallbackSecrets
  /** Others of the same kind. */
  readonly otherSecrets: CallbackSecrets
  readonly requests: readonly PeerRequest[]
  /** As their readers get them. */
  readonly mails: readonly RelayedMail[]
  /** What it was asked to watch, or to put into the mail, by itself. */
  trackingOf(mail: RelayedMail): readonly unknown[]
  /** It asks for one more domain of the account's, or of somebody else's. */
  addDomain(domain: string): void
  addForeignDomain(domain: string): void
  setScript(script: PeerScript | undefined): void
  /** An error in its own form. */
  errorOf(words: string): unknown
  /** Makes it report what became of the mails since the last time. */
  callBack(): Promise<readonly CallbackRequest[]>
  close(): Promise<void>
}

export const PEERS: Readonly<Record<RelayProvider['kind'], () => Promise<Peer>>> = {
  async sparkpost() {
    const server = await createSparkPostServer()
    const callbacks = await createCallbackReceiver()
    const callbackSecret = 'callback-secret-1'
    server.setCallbacks('manual')
    await server.registerWebhook({
      target: callbacks.url,
      customHeaders: { 'X-Callback-Secret': callbackSecret },
    })
    return {
      account: accountAt('sparkpost', server),
      secrets: { callbackSecret },
      otherSecrets: { callbackSecret: 'callback-secret-2' },
      requests: server.requests,
      mails: server.mails,
      trackingOf(mail) {
        const { options } = mail.request as { options: Record<string, unknown> }
        const { open_tracking, initial_open, click_tracking, perform_substitutions } = options
        return [open_tracking, initial_open, click_tracking, perform_substitutions]
      },
      addDomain: (domain) => void server.domains.add(domain),
      addForeignDomain: server.domains.addForeign,
      setScript: server.setScript,
      errorOf: (message) => ({ errors: [{ message }] }),
      callBack: () => callbacks.during(() => server.callBack()),
      close: async () => {
        await server.close()
        await callbacks.close()
      },
    }
  },
  async sendgrid() {
    const server = await createSendGridServer()
    const other = await createSendGridServer()
    const callbacks = await createCallbackReceiver()
    server.setCallbacks('manual')
    server.setWebhook(callbacks.url)
    return {
      account: accountAt('sendgrid', server),
      secrets: { verificationKey: server.verificationKey },
      otherSecrets: { verificationKey: other.verificationKey },
      requests: server.requests,
      mails: server.mails,
      trackingOf(mail) {
        const { tracking_settings: settings } = mail.request as {
          tracking_settings: Record<string, { enable: unknown; enable_text?: unknown }>
        }
        const { click_tracking, open_tracking, subscription_tracking, ganalytics } = settings
        return [
          ...[click_tracking?.enable, click_tracking?.enable_text, open_tracking?.enable],
          ...[subscription_tracking?.enable, ganalytics?.enable],
        ]
      },
      addDomain: (domain) => void server.domains.add(domain),
      addForeignDomain: server.domains.addForeign,
      setScript: server.setScript,
      errorOf: (message) => ({ errors: [{ message, field: null, help: null }] }),
      callBack: () => callbacks.during(() => server.callBack()),
      close: async () => {
        await server.close()
        await other.close()
        await callbacks.close()
      },
    }
  },
}

function accountAt(
  kind: RelayProvider['kind'],
  { apiKey, apiBase }: { readonly apiKey: string; readonly apiBase: string },
): RelayAccount {
  return { tenantId: 'tn_a', kind, apiKey, apiBase, configVersion: 1 }
}

/** Takes callbacks as they come: their headers, and the bytes of their bodies. */
async function createCallbackReceiver() {
  const receiver = await createWebhookReceiver()
  return {
    url: `${receiver.origin}/callbacks`,
    async during(call: () => Promise<unknown>): Promise<readonly CallbackRequest[]> {
      const taken = receiver.requests.length
      await call()
      return receiver.requests.slice(taken).map(({ rawHeaders, body }) => ({
        headers: Object.fromEntries(rawHeaders.map(([name, value]) => [name.toLowerCase(), value])),
        body,
      }))
    },
    close: () => receiver.close(),
  }
}
