/** The scripted IMAP server with so many users, whose mailboxes are empty. */
import { createImapServer } from '@postrider/testkit'
import { serveParent } from './worker.ts'

let port = 0
serveParent({
  async start(users: Readonly<Record<string, string>>) {
    const server = await createImapServer({ auth: { users } })
    port = server.port
    return port
  },
  port: () => port,
})
