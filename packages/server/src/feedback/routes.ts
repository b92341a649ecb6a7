/**
 * Where relay providers report (docs/reference/domains.md#callbacks, public): `/callbacks/{kind}/{token}`.
 *
 * The body alone counts, whatever type it is said to have: signatures are over its octets. It is not
 * read before the token is known. A compressed one is refused: it could be of any size.
 */
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../platform/errors.ts'
import { refuseEncoded } from '../platform/http/body/json-body.ts'
import type { CalledBack } from '../relays/index.ts'
import type { CallbackIntake } from './intake/receive-callback.ts'

declare module 'fastify' {
  interface FastifyRequest {
    calledBack: CalledBack | undefined
  }
}

/** Providers send less than a fifth of it. */
export const callbackBytesMax = 4 * 1024 * 1024

const path = '/callbacks/:kind/:token'
const options = {
  config: { auth: 'public' as const },
  schema: { hide: true },
  bodyLimit: callbackBytesMax,
}

interface Callback {
  Params: { readonly kind: string; readonly token: string }
  Body: Buffer | undefined
}

export function callbackRoutes(app: FastifyInstance, intake: CallbackIntake): void {
  app.register(async (scope) => {
    scope.decorateRequest('calledBack', undefined)
    scope.addHook<Callback>('onRequest', async (request) => {
      const { headers, params, clientAddress } = request
      request.calledBack = await intake.identify(params.kind, params.token, clientAddress)
      const refusal = refuseEncoded(headers)
      if (refusal !== undefined) throw refusal
      delete headers['content-type']
    })
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    )
    scope.post<Callback>(path, options, async ({ calledBack, body, raw }) => {
      if (calledBack === undefined) throw new ApiError('not_found')
      await intake.take(calledBack, raw.headers, body ?? Buffer.alloc(0))
      return { success: true, message: 'Callback stored' }
    })
  })
}
