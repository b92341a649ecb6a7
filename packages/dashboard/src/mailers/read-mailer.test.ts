import { Postrider } from '@postrider/client'
import { expect, it } from 'vitest'
import { readMailer } from './read-mailer.ts'

/** A service with two pages of mailers; answers the paths that were asked for. */
function serviceWith(found: Readonly<Record<string, object>>) {
  const asked: string[] = []
  const client = new Postrider({
    ...{ apiKey: 'k', basePath: 'https://mail.example.com', maxRetries: 0 },
    async fetch(input) {
      const { pathname, search } = new URL(String(input instanceof Request ? input.url : input))
      asked.push(pathname + search)
      const body = found[pathname + search]
      return body === undefined
        ? Response.json(
            { success: false, message: 'Not Found', code: 'not_found', request_id: 'r' },
            { status: 404 },
          )
        : Response.json({ success: true, message: 'Mailer', ...body })
    },
  })
  return { asked, read: (id: string) => readMailer(client, id, { signal: AbortSignal.any([]) }) }
}

it.each([
  ['smtp_1', '/v1/smtp/smtp_1'],
  ['imap_1', '/v1/imap/imap_1'],
])('reads %s by the operation of its kind', async (mailer_id, path) => {
  const { asked, read } = serviceWith({ [path]: { mailer: { mailer_id } } })
  expect(await read(mailer_id)).toEqual({ mailer_id })
  expect(asked).toEqual([path])
})

it('finds the mailer of a sending domain in the list, on whichever page it is', async () => {
  const { asked, read } = serviceWith({
    '/v1/mailers': { mailers: [{ mailer_id: 'domain_1' }], nextPageToken: 'two' },
    '/v1/mailers?pageToken=two': { mailers: [{ mailer_id: 'domain_2' }] },
  })
  expect(await read('domain_2')).toEqual({ mailer_id: 'domain_2' })
  expect(asked).toHaveLength(2)
})

it('rejects with the 404 of the service where there is none', async () => {
  const { read } = serviceWith({ '/v1/mailers': { mailers: [{ mailer_id: 'domain_1' }] } })
  await expect(read('domain_9')).rejects.toMatchObject({ status: 404, code: 'not_found' })
  await expect(read('imap_9')).rejects.toMatchObject({ status: 404 })
})
