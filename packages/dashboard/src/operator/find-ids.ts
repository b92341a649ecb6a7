/** Ids in a text of the service, such as in what a check found: each leads to the search. */

export interface TextPart {
  readonly text: string
  readonly isId: boolean
}

export function findIds(text: string): TextPart[] {
  return text
    .split(/(\b[a-z]{1,12}_[0-9A-HJKMNP-TV-Z]{26}\b)/)
    .map((part, at) => ({ text: part, isId: at % 2 === 1 }))
    .filter((part) => part.text !== '')
}
