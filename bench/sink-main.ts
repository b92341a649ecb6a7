/** The SMTP server that every sender delivers into: accepts all, counts, keeps nothing. */
import { createSmtpServer } from '@postrider/testkit'
import { serveParent } from './worker.ts'

const server = await createSmtpServer({ record: 'count' })
serveParent({
  port: () => server.port,
  clear: () => server.clear(),
  accepted: () => server.accepted,
  async waitFor({ count, timeoutMs }: { count: number; timeoutMs: number }) {
    await server.waitForMessages(count, timeoutMs)
    return server.accepted
  },
})
