// Commands about buckets of object stores.

import { integerFrom } from '../line/values.js'
import { bucketServer, bytes, define, flag, json } from './options.js'

const MOST_OBJECTS = 64

export const bucket = define({
  summary: 'make blobs of objects that are in a bucket of an object store already',
  operands: 'ACTION URL',
  choices: ['adopt'],
  options: {
    ...bucketServer,
    recheck: flag('also read the objects that were adopted before'),
    parallel: {
      value: 'N', help: 'read at most N objects at the same time; default: 4', read: integerFrom(1, MOST_OBJECTS)
    },
    bytes,
    json
  },
  notes: [
    'ACTION is adopt. URL is s3://BUCKET/PREFIX: all objects whose keys begin with PREFIX are adopted, as they are ' +
    'written there, so a folder ends with a slash. Each object is read once. Its outboard and a reference are ' +
    'written into the bucket, under blobs/, refs/ and adopted/; the object stays as it is.',
    'Prints a line for each object: its CID, its size, whether it is new or was adopted before, and its key. An ' +
    'object that was adopted before and has not changed is not read again, so after an interruption run the command ' +
    'again. An object that cannot be adopted, for example because it changes while it is read, is left out with a ' +
    'line on stderr, and the command exits with 1.',
    'The access key is in $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY.'
  ],
  examples: [
    'baobox bucket adopt s3://my-bucket/videos/ --region eu-central-1',
    'baobox bucket adopt s3://blobs --endpoint http://127.0.0.1:7070 --json'
  ]
})
