package fill_test

import ()
