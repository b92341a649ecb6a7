/** The sentences of a document, to hold their length. */

/** Of Markdown, without code. An item of a list and a cell of a table end a sentence, too. */
export function sentencesOf(markdown: string): string[] {
  const sentences: string[] = []
  let paragraph: string[] = []
  const end = () => {
    sentences.push(...split(paragraph.join(' ')))
    paragraph = []
  }
  let isCode = false
  for (const raw of markdown.split('\n')) {
    const line = raw.trim()
    const isFence = line.startsWith('```')
    if (isFence || isCode || line === '' || /^(#|<!--|\|)/.test(line)) end()
    if (isFence) isCode = !isCode
    else if (isCode || /^(#|<!--|\|[\s:|-]+\|$)/.test(line)) continue
    else if (line.startsWith('|')) sentences.push(...line.split(/(?<!\\)\|/).flatMap(split))
    else {
      if (/^([-*]|\d+\.) /.test(line)) end()
      paragraph.push(line.replace(/^([-*]|\d+\.) /, ''))
    }
  }
  end()
  return sentences
}

/** A name in code is one word. */
export function countWords(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

function split(text: string): string[] {
  return text
    .replaceAll(/`[^`]*`/g, 'CODE')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .split(/(?<=[.!?:][)"*\]]*)\s+(?=["([*]*[A-Z0-9])|<br>/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
}
