/** What an operation gives: a promise of the answer's data, and the HTTP answer on request. */

export interface WithResponse<Data> {
  readonly data: Data
  /** Status and headers of the answer; its body has been read into `data`. */
  readonly response: Response
  /** `X-Request-Id` of the answer, to report a problem with. */
  readonly requestId: string | undefined
}

export interface AnswerPromise<Data> extends Promise<Data> {
  /** The same answer, not another request, with its HTTP response and request id. */
  withResponse(): Promise<WithResponse<Data>>
}

export function answerPromise<Data>(answered: Promise<WithResponse<Data>>): AnswerPromise<Data> {
  const promise = answered.then(({ data }) => data)
  return Object.assign(promise, {
    withResponse() {
      // Who asks this way handles the rejection there.
      promise.catch(() => undefined)
      return answered
    },
  })
}

export function withRequestId<Data>(response: Response, data: Data): WithResponse<Data> {
  return { data, response, requestId: response.headers.get('x-request-id') ?? undefined }
}
